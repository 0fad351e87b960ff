/**
 * What the node has for Services: an interface with their range, and the kernel's rules or a proxy.
 *
 * In: what an agent wants the kernel to do. Out: programs `ip` and `nft` that do it. Everything is named after the
 * root folder, so that two agents have nothing in common; an interface says whose it is, and those of root folders
 * that are gone are removed.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Logger } from '#base/log/logger.js';
import { findProgram } from '#base/proc/find-program.js';
import { findCapabilities, hasCapability } from '#base/proc/proc-text.js';
import { type Ipv4Range } from '#base/wire/ipv4-range.js';
import { nodeAddressOf } from './service-addresses.js';
import { renderRemoval, renderServiceTable, type ServiceTable } from './service-table.js';

/**
 * - `nftables`: the kernel sends connections to pods
 * - `proxy`: this process carries them, at addresses that the whole machine and its pods reach
 * - `loopback`: this process carries them, at addresses that only programs on the machine's own network reach
 */
export type ServiceNetworkKind = 'nftables' | 'proxy' | 'loopback';

/** What {@link ServiceNetwork.open} needs. */
export interface ServiceNetworkOptions {
  /** Without links. */
  readonly rootDir: string;
  readonly logger: Logger;
  /** Folders with `ip` and `nft`, with colons between them (default: the machine's own). */
  readonly toolPath?: string;
}

const TOOL_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin';
/** Each takes milliseconds; this is for machines that have lost their way. */
const DEADLINE_MS = 15_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const CAP_NET_ADMIN = 12n;
const LINK = /^pls[0-9a-f]{8}$/;
const ALIAS = /^podloop-services (\/[\w./@+-]{1,199})$/;

interface Tools {
  readonly ip: string;
  readonly nft: string | undefined;
  readonly path: string;
}

/** See the module. */
export class ServiceNetwork {
  readonly kind: ServiceNetworkKind;
  /** Why the kernel's rules are not used, or nothing but loopback addresses; empty when they are. */
  readonly why: string;
  readonly link: string;
  readonly tableName: string;
  readonly #options: ServiceNetworkOptions;
  readonly #tools: Tools | undefined;
  /** Addresses that are on the link. */
  #addresses: ReadonlySet<string> = new Set();

  private constructor(options: ServiceNetworkOptions, tools: Tools | string, whyNoRules: string) {
    const hash = createHash('sha256').update(options.rootDir).digest('hex').slice(0, 8);
    this.link = `pls${hash}`;
    this.tableName = `podloopsvc_${hash}`;
    this.#options = options;
    this.#tools = typeof tools === 'string' ? undefined : tools;
    this.why = typeof tools === 'string' ? tools : whyNoRules;
    this.kind = typeof tools === 'string' ? 'loopback' : whyNoRules === '' ? 'nftables' : 'proxy';
  }

  /** Finds out what can be done here; changes nothing. */
  static async open(options: ServiceNetworkOptions): Promise<ServiceNetwork> {
    const { toolPath: path = TOOL_PATH } = options;
    if (!(await canHaveLink())) {
      return new ServiceNetwork(options, 'the agent is not root (it lacks CAP_NET_ADMIN)', '');
    }
    const [ip, nft, unshare] = await Promise.all(
      ['ip', 'nft', 'unshare'].map(async (name) => findProgram(name, path)),
    );
    if (ip === undefined || unshare === undefined) {
      return new ServiceNetwork(options, `the programs "ip" and "unshare" are not in ${path}`, '');
    }
    const tools = { ip, nft, path };
    const tryOut = async (argv: readonly string[], input: string): Promise<string> =>
      run([unshare, '--net', '--', ...argv], path, input).then(
        () => '',
        (error: unknown) => messageOf(error),
      );
    const noLink = await tryOut([ip, '-batch', '-'], 'link add name pls0 type bridge\n');
    if (noLink !== '') return new ServiceNetwork(options, `no interface can be made: ${noLink}`, '');
    if (nft === undefined) return new ServiceNetwork(options, tools, 'there is no nft');
    return new ServiceNetwork(options, tools, await tryOut([nft, '-f', '-'], renderServiceTable(SAMPLE)));
  }

  /** Makes the interface unless it is there, with the node's address and these, and no others. */
  async ensureLink(range: Ipv4Range, addresses: readonly string[]): Promise<void> {
    if (this.#tools === undefined) return;
    const { ip } = this.#tools;
    const own = `${nodeAddressOf(range)}/${range.prefix}`;
    const wanted = new Set([own, ...addresses.map((address) => `${address}/32`)]);
    const present = await this.#listAddresses();
    if (present === undefined) {
      const { rootDir } = this.#options;
      const alias = `podloop-services ${rootDir}`;
      // A name that `ip` cannot read from a line is left out: then only this root folder's agents remove it.
      const marked = ALIAS.test(alias) ? [`link set dev ${this.link} alias "${alias}"`] : [];
      await this.#batch(ip, [`link add name ${this.link} type bridge`, ...marked]);
    }
    const lines = [
      ...[...(present ?? [])]
        .filter((each) => !wanted.has(each))
        .map((each) => `addr del ${each} dev ${this.link}`),
      ...[...wanted]
        .filter((each) => present?.has(each) !== true)
        .map((each) => `addr add ${each} dev ${this.link}`),
      `link set dev ${this.link} up`,
    ];
    await this.#batch(ip, lines);
    this.#addresses = wanted;
  }

  /** Replaces the kernel's rules. */
  async apply(table: Omit<ServiceTable, 'name' | 'link' | 'comment'>): Promise<void> {
    const { nft } = this.#tools ?? {};
    if (nft === undefined || this.kind !== 'nftables') return;
    const named = { name: this.tableName, link: this.link, comment: 'podloop: Services' };
    await this.#run([nft, '-f', '-'], renderServiceTable({ ...named, ...table }));
  }

  /** Whether interface and rules are as they were made: a firewall that is loaded again removes all rules. */
  async isIntact(): Promise<boolean> {
    if (this.#tools === undefined) return true;
    const present = await this.#listAddresses();
    if (present === undefined || ![...this.#addresses].every((each) => present.has(each))) return false;
    const { nft } = this.#tools;
    if (nft === undefined || this.kind !== 'nftables') return true;
    return this.#run([nft, 'list', 'chain', 'ip', this.tableName, 'services']).then(
      () => true,
      () => false,
    );
  }

  /** Lets the kernel forget where UDP packets to an address went, as far as there is a `conntrack` program. */
  async forgetUdpFlows(address: string): Promise<void> {
    if (this.#tools === undefined) return;
    const program = await findProgram('conntrack', this.#tools.path);
    if (program === undefined) return;
    // It exits with 1 when there was nothing to forget.
    await this.#run([program, '-D', '-p', 'udp', '--orig-dst', address]).catch(() => undefined);
  }

  /** Takes everything away; that there is nothing is fine. */
  async remove(): Promise<void> {
    if (this.#tools === undefined) return;
    await this.#removeNamed(this.link, this.tableName);
    this.#addresses = new Set();
  }

  /** Removes what agents left whose root folders are gone. Never rejects. */
  async removeOrphans(): Promise<void> {
    if (this.#tools === undefined) return;
    const { logger } = this.#options;
    try {
      const text = await this.#run([this.#tools.ip, '-j', 'link', 'show', 'type', 'bridge']);
      const links = JSON.parse(text.trim() === '' ? '[]' : text) as { ifname?: string; ifalias?: string }[];
      for (const { ifname = '', ifalias = '' } of links) {
        const root = ALIAS.exec(ifalias)?.[1];
        if (root === undefined || !isServiceLink(ifname) || ifname === this.link || (await exists(root)))
          continue;
        logger.info('Removing what Services of an agent had whose root folder is gone', {
          root,
          link: ifname,
        });
        await this.#removeNamed(ifname, ifname.replace(/^pls/, 'podloopsvc_'));
      }
    } catch (error) {
      logger.warn('Remains of Services of other agents not found', { err: messageOf(error) });
    }
  }

  async #removeNamed(link: string, tableName: string): Promise<void> {
    const { ip, nft } = this.#tools!;
    if (nft !== undefined) await this.#run([nft, '-f', '-'], renderRemoval(tableName)).catch(() => undefined);
    await this.#run([ip, 'link', 'del', 'dev', link]).catch((error: unknown) => {
      if (!isNoSuchDevice(error)) throw error;
    });
  }

  /** As `address/prefix`; undefined when there is no such interface. */
  async #listAddresses(): Promise<ReadonlySet<string> | undefined> {
    try {
      const text = await this.#run([this.#tools!.ip, '-j', '-4', 'addr', 'show', 'dev', this.link]);
      const [found] = JSON.parse(text) as { addr_info?: { local?: string; prefixlen?: number }[] }[];
      return new Set((found?.addr_info ?? []).map(({ local, prefixlen }) => `${local}/${prefixlen}`));
    } catch (error) {
      if (isNoSuchDevice(error)) return undefined;
      throw error;
    }
  }

  async #batch(ip: string, lines: readonly string[]): Promise<void> {
    await this.#run([ip, '-batch', '-'], `${lines.join('\n')}\n`);
  }

  async #run(argv: readonly string[], input = ''): Promise<string> {
    return run(argv, this.#tools!.path, input);
  }
}

/** Whether this process may make interfaces. */
export async function canHaveLink(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'latin1');
  return hasCapability(findCapabilities(status, 'CapEff'), CAP_NET_ADMIN);
}

/** Whether an interface is that of an agent's Services. */
export function isServiceLink(name: string): boolean {
  return LINK.test(name);
}

const SAMPLE: ServiceTable = {
  ...{ name: 'podloopsvc_0', comment: 'podloop', link: 'pls0', range: '10.192.0.0/20' },
  dns: { address: '10.192.0.10', links: ['podloop*'] },
  dnsInstead: '192.0.2.1',
  routes: (['tcp', 'udp'] as const).map((protocol) => ({
    ...{ name: protocol, protocol, address: '10.192.0.20', port: 1, nodePort: 30_000 },
    byClient: protocol === 'udp',
    targets: [1, 2].map((port) => ({ address: '10.88.0.2', port })),
  })),
};

async function run([file = '', ...args]: readonly string[], path: string, input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      ...{ cwd: '/', env: { PATH: path, LC_ALL: 'C' }, timeout: DEADLINE_MS },
      ...{ killSignal: 'SIGKILL' as const, maxBuffer: MAX_OUTPUT_BYTES },
    };
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else {
        const words = (stderr.trim() || messageOf(error)).slice(0, 1_000).replaceAll(/\s*\n\s*/g, '; ');
        reject(new Error(`${[file, ...args].join(' ')}: ${words}`));
      }
    });
    // A program that ends before it has read everything says more in its own words than EPIPE does.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

function isNoSuchDevice(error: unknown): boolean {
  return /Cannot find device|does not exist|No such device/.test(messageOf(error));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    // What may not be looked at may well be there.
    (error: unknown) => systemCodeOf(error) !== 'ENOENT',
  );
}
