import { findCapabilities, hasCapability } from '#base/proc/proc-text.js';
import { constants } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { type Clock } from '#base/time/clock.js';
import { refused } from '../rpc-error.js';
import { findProgram } from '#base/proc/find-program.js';
import { describeFailure, runHelper, runHelperWell, type HelperResult } from '../process/helper-process.js';
import { SETTLE_SCRIPT, type Setting } from './links/link-settings.js';

/** What {@link NetworkTools.find} takes. */
export interface NetworkToolsOptions {
  readonly clock: Clock;
  /** Folders in which programs are looked for, with colons between them. */
  readonly path: string;
  /**
   * The file of the network namespace that plays the host: bridge, host ports and rules are made there. The
   * default is the runtime's own.
   */
  readonly hostNetns?: string | undefined;
}

/** A link as `ip -j -d link` shows it, as far as it is of use here. */
export interface LinkInfo {
  readonly ifname: string;
  /** The MAC address. */
  readonly address?: string;
  readonly mtu?: number;
  readonly ifalias?: string;
  readonly linkinfo?: { readonly info_kind?: string };
}

/** A route as `ip -j route` shows it. */
export interface RouteInfo {
  /** `default`, an address or a range. */
  readonly dst: string;
  readonly dev?: string;
}

interface Programs {
  readonly ip: string;
  readonly nsenter: string;
  readonly unshare: string;
  readonly shell: string;
}

/** What is tried out before anybody is promised a network. */
const SAMPLE_LINKS = ['link add name podloop0 type bridge', 'link add name plv0 type veth peer name plv1'];

/** Each call of `ip` is a few milliseconds; this is for machines that have lost their way. */
const IP_DEADLINE_MS = 15_000;
/** Numbers of capabilities(7). */
const CAP_NET_ADMIN = 12n;
const CAP_SYS_ADMIN = 21n;

/** The programs that change networks, and where they are run: in the host's network or in a sandbox's. */
export class NetworkTools {
  readonly clock: Clock;
  readonly path: string;
  readonly #ip: string;
  readonly #nsenter: string;
  readonly #unshare: string;
  readonly #shell: string;
  readonly #hostNetns: string | undefined;

  private constructor(options: NetworkToolsOptions, programs: Programs) {
    this.clock = options.clock;
    this.path = options.path;
    this.#hostNetns = options.hostNetns;
    this.#ip = programs.ip;
    this.#nsenter = programs.nsenter;
    this.#unshare = programs.unshare;
    this.#shell = programs.shell;
  }

  /** Finds them and tries out whether networks can be made here; a string says why they cannot. */
  static async find(options: NetworkToolsOptions): Promise<NetworkTools | string> {
    const lacking = await findMissingRight();
    if (lacking !== undefined) return lacking;
    const [ip, nsenter, unshare, shell] = await Promise.all(
      ['ip', 'nsenter', 'unshare', 'sh'].map((name) => findProgram(name, options.path)),
    );
    if (ip === undefined) return `the program "ip" (iproute2) is not in ${options.path}`;
    if (nsenter === undefined || unshare === undefined || shell === undefined)
      return `the programs "nsenter", "unshare" (util-linux) and "sh" are not all in ${options.path}`;
    const tools = new NetworkTools(options, { ip, nsenter, unshare, shell });
    const fault = await tools.tryOut([ip, '-j', '-batch', '-'], `${SAMPLE_LINKS.join('\n')}\n`);
    return fault === undefined ? tools : `a bridge with a veth pair cannot be made here: ${fault}`;
  }

  /** Puts in front of a command what makes it run in the host's network, or in that of a process. */
  wrap(argv: readonly string[], holderPid?: number): readonly string[] {
    const netns = holderPid === undefined ? this.#hostNetns : `/proc/${holderPid}/ns/net`;
    return netns === undefined ? argv : [this.#nsenter, `--net=${netns}`, '--', ...argv];
  }

  /** Runs a program in the host's network; resolves with its output, rejects unless it exits with 0. */
  async run(
    argv: readonly string[],
    options: { input?: string; signal?: AbortSignal | undefined },
  ): Promise<string> {
    return runHelperWell({
      argv: this.wrap(argv),
      input: options.input ?? '',
      ...this.#limits(options.signal),
    });
  }

  /**
   * Runs a program in a network namespace that ends with it, so that the host sees nothing of it. Resolves with what
   * went wrong, if something did.
   */
  async tryOut(argv: readonly string[], input: string): Promise<string | undefined> {
    const result = await runHelper({
      argv: [this.#unshare, '--net', '--', ...argv],
      input,
      ...this.#limits(undefined),
    });
    return result.exitCode === 0 ? undefined : describeFailure(argv, result);
  }

  /** Runs several commands of `ip`, one a line, in one process; ends at the first that fails. */
  async ipBatch(
    lines: readonly string[],
    where: { holderPid?: number; signal?: AbortSignal },
  ): Promise<void> {
    await runHelperWell({
      argv: this.wrap([this.#ip, '-batch', '-'], where.holderPid),
      input: `${lines.join('\n')}\n`,
      ...this.#limits(where.signal),
    });
  }

  /**
   * Runs `first` as {@link ipBatch} does, writes settings, and runs `lines`: a link that `first` makes can be told what
   * not to believe before `lines` bring it up. Resolves with the files that could not be written.
   */
  async ipBatchWithSettings(
    steps: { first?: readonly string[]; settings: readonly Setting[]; lines: readonly string[] },
    where: { holderPid?: number; signal?: AbortSignal | undefined },
  ): Promise<readonly string[]> {
    const { first = [], settings, lines } = steps;
    const words = [this.#ip, first.join('\n'), ...settings.flat()];
    const stdout = await runHelperWell({
      argv: this.wrap([this.#shell, '-c', SETTLE_SCRIPT, 'sh', ...words], where.holderPid),
      input: `${lines.join('\n')}\n`,
      ...this.#limits(where.signal),
    });
    return stdout.split('\n').filter((line) => line !== '');
  }

  /** A link of the host by its name; undefined when there is none. */
  async findLink(name: string, signal?: AbortSignal): Promise<LinkInfo | undefined> {
    const argv = this.wrap([this.#ip, '-j', '-d', 'link', 'show', 'dev', name]);
    const result = await runHelper({ argv, ...this.#limits(signal) });
    if (result.exitCode === 0) return parseList<LinkInfo>(result)[0];
    if (isNoSuchDevice(result)) return undefined;
    throw refused(describeFailure(argv, result));
  }

  /** The first IPv4 address of a link in a sandbox; undefined when it has none. */
  async findAddress(holderPid: number, dev: string, signal?: AbortSignal): Promise<string | undefined> {
    const argv = this.wrap([this.#ip, '-j', '-4', 'addr', 'show', 'dev', dev], holderPid);
    const result = await runHelper({ argv, ...this.#limits(signal) });
    if (result.exitCode !== 0) throw refused(describeFailure(argv, result));
    const [link] = parseList<{ addr_info?: { local?: string }[] }>(result);
    return link?.addr_info?.[0]?.local;
  }

  /** The host's links that are ports of a bridge. */
  async listPorts(bridge: string, signal?: AbortSignal): Promise<readonly LinkInfo[]> {
    return this.#ipJson<LinkInfo>(['link', 'show', 'master', bridge], signal);
  }

  /** The host's bridges, whoever made them. */
  async listBridges(signal?: AbortSignal): Promise<readonly LinkInfo[]> {
    return this.#ipJson<LinkInfo>(['link', 'show', 'type', 'bridge'], signal);
  }

  /**
   * Lets the kernel forget whom packets to a UDP port of the host went to: as long as somebody goes on sending,
   * they would go there for ever. Does nothing where there is no `conntrack` program.
   */
  async forgetUdpFlows(port: number, signal?: AbortSignal): Promise<void> {
    const program = await findProgram('conntrack', this.path);
    if (program === undefined) return;
    // It exits with 1 when there was nothing to forget.
    const argv = this.wrap([program, '-D', '-p', 'udp', '--orig-port-dst', String(port)]);
    await runHelper({ argv, ...this.#limits(signal) });
  }

  /** The host's IPv4 routes, of all tables. */
  async listRoutes(signal?: AbortSignal): Promise<readonly RouteInfo[]> {
    return this.#ipJson<RouteInfo>(['-4', 'route', 'show', 'table', 'all'], signal);
  }

  /** Deletes a link of the host; that there is none is fine. */
  async deleteLink(name: string, signal?: AbortSignal): Promise<void> {
    const argv = this.wrap([this.#ip, 'link', 'del', 'dev', name]);
    const result = await runHelper({ argv, ...this.#limits(signal) });
    if (result.exitCode !== 0 && !isNoSuchDevice(result)) throw refused(describeFailure(argv, result));
  }

  /** Whether {@link writeSetting} can work: containers often have /proc/sys read-only. */
  async canWriteSettings(): Promise<boolean> {
    return access('/proc/sys/net/ipv4/ip_forward', constants.W_OK).then(
      () => true,
      () => false,
    );
  }

  /** Reads a file below /proc/sys/net as the host's network has it: which one is seen depends on the reader. */
  async readSetting(path: string, signal?: AbortSignal): Promise<string> {
    if (this.#hostNetns === undefined) return (await readFile(path, 'utf8')).trim();
    // Shells read such a file byte by byte and miss its line's end, which they take for a failure.
    const argv = this.wrap([this.#shell, '-c', 'read -r value <"$0"; echo "$value"', path]);
    return (await runHelperWell({ argv, ...this.#limits(signal) })).trim();
  }

  /** Writes a file below /proc/sys/net of the host's network. */
  async writeSetting(path: string, value: string, signal?: AbortSignal): Promise<void> {
    if (this.#hostNetns === undefined) return writeFile(path, value);
    const argv = this.wrap([this.#shell, '-c', 'echo "$1" >"$0"', path, value]);
    await runHelperWell({ argv, ...this.#limits(signal) });
  }

  async #ipJson<T>(args: readonly string[], signal?: AbortSignal): Promise<readonly T[]> {
    const argv = this.wrap([this.#ip, '-j', ...args]);
    const result = await runHelper({ argv, ...this.#limits(signal) });
    if (result.exitCode === 0) return parseList<T>(result);
    if (isNoSuchDevice(result)) return [];
    throw refused(describeFailure(argv, result));
  }

  #limits(signal: AbortSignal | undefined) {
    return { deadlineMs: IP_DEADLINE_MS, signal, clock: this.clock, env: { PATH: this.path, LC_ALL: 'C' } };
  }
}

async function findMissingRight(): Promise<string | undefined> {
  const status = await readFile('/proc/self/status', 'latin1');
  const effective = findCapabilities(status, 'CapEff');
  const has = (capability: bigint): boolean => hasCapability(effective, capability);
  if (has(CAP_NET_ADMIN) && has(CAP_SYS_ADMIN)) return undefined;
  return 'the runtime is not root (it lacks CAP_NET_ADMIN or CAP_SYS_ADMIN)';
}

/** `ip` says it in words of its own for a name that it does not find, and in the kernel’s for one that went meanwhile. */
function isNoSuchDevice({ stderr }: HelperResult): boolean {
  return /Cannot find device|does not exist|No such device/.test(stderr);
}

// What comes back is believed to be a T: the kernel's own program wrote it.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function parseList<T>({ stdout }: HelperResult): readonly T[] {
  if (stdout.trim() === '') return [];
  // Older versions put an empty object where a filter took an entry away.
  return (JSON.parse(stdout) as T[]).filter((entry) => Object.keys(entry as object).length > 0);
}
