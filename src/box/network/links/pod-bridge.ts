import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { refused } from '../../rpc-error.js';
import {
  deleteBridgeRecord,
  readBridgeRecord,
  readInstance,
  writeBridgeRecord,
  type BridgeRecord,
} from './bridge-record.js';
import { formatIpv4, formatIpv4Range, parseIpv4Range, type Ipv4Range } from '#base/wire/ipv4-range.js';
import { hostLinkSettings } from './link-settings.js';
import { type LinkInfo, type NetworkTools } from '../network-tools.js';
import { bridgeNameOf, candidateRanges, describeOverlap } from './range-choice.js';
import { UnwrittenSettings } from './unwritten-settings.js';

/** What {@link PodBridge.open} takes. */
export interface PodBridgeOptions {
  /** Folder of its record. */
  readonly dir: string;
  /** The range to use; one that no route overlaps is chosen when it is undefined. */
  readonly range: Ipv4Range | undefined;
  readonly tools: NetworkTools;
  readonly logger: Logger;
}

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';

/**
 * The alias of each bridge of a podloop: whose it is (a folder that `ip` cannot read from a line is left out), and after
 * {@link FORWARDING_WAS_OFF} that the host forwarded nothing before podloops came.
 */
const ALIAS = /^podloop( forwarding-was-off)?( \/[\w./@+-]{1,199})?$/;
const FORWARDING_WAS_OFF = ' forwarding-was-off';

/**
 * A bridge of our own: the host has the first address of the range on it, the pods have the others.
 *
 * It is there as long as pods hang on it. Its name says the range, which makes taking a range atomic; its MAC
 * address, given at its very creation, says which runtime's it is. A bridge that is not ours is never touched, but for
 * its alias: where forwarding was off before the first runtime, the bridges themselves say so, and one that goes passes
 * that on to those that stay. The last one switches it off.
 */
export class PodBridge {
  readonly #options: PodBridgeOptions;
  readonly #mac: string;
  readonly #unwritten: UnwrittenSettings;
  #record: BridgeRecord | undefined;
  #up = false;

  private constructor(options: PodBridgeOptions, mac: string, record: BridgeRecord | undefined) {
    this.#options = options;
    this.#mac = mac;
    this.#unwritten = new UnwrittenSettings({
      logger: options.logger,
      message: 'Pods may send this host false routes: settings of the bridge cannot be written',
    });
    this.#record = record;
  }

  /** Reads what an earlier runtime has written down; makes nothing. */
  static async open(options: PodBridgeOptions): Promise<PodBridge> {
    const { dir, logger } = options;
    return new PodBridge(options, macOf(await readInstance(dir)), await readBridgeRecord(dir, logger));
  }

  /** The range that is in use, or would be; undefined when the next pod makes it choose. */
  get range(): Ipv4Range | undefined {
    return this.#record === undefined ? this.#options.range : parseIpv4Range(this.#record.range);
  }

  /** The interface's name; undefined while there is none. */
  get name(): string | undefined {
    return this.#record === undefined ? undefined : bridgeNameOf(parseIpv4Range(this.#record.range)!);
  }

  /** What pods' links must not exceed. */
  get mtu(): number {
    return this.#record?.mtu ?? 1500;
  }

  /** Whether it was made sure of since the start, or since the last {@link doubt}. */
  get isUp(): boolean {
    return this.#up;
  }

  /** The next {@link ensure} looks at everything: something that should be there was not. */
  doubt(): void {
    this.#up = false;
  }

  /** Makes the bridge unless it is there. Rejects when its range belongs to somebody else. */
  async ensure(signal?: AbortSignal): Promise<{ name: string; range: Ipv4Range; gateway: string }> {
    if (!this.#up) {
      if (this.#record === undefined) await this.#takeRange(signal);
      else await this.#make(this.#record, signal);
      this.#up = true;
    }
    const range = this.range!;
    return { name: this.name!, range, gateway: formatIpv4(range.network + 1) };
  }

  /** Lets the host forward packets, and remembers whether it did before; lets its loopback reach pods. */
  async enableRouting(signal?: AbortSignal): Promise<void> {
    const { tools } = this.#options;
    if (this.#record === undefined) return;
    // Packets from 127.0.0.1 to a host port leave through the bridge; packet rules see to it that none comes in.
    await tools.writeSetting(`/proc/sys/net/ipv4/conf/${this.name}/route_localnet`, '1', signal);
    if ((await tools.readSetting(FORWARDING, signal)) !== '0') return;
    await this.#write({ ...this.#record, forwardingWasOff: true });
    await tools.writeSetting(FORWARDING, '1', signal);
    await this.#mark({ ifname: this.name!, ifalias: this.#alias }, signal);
  }

  /** Why the range that was asked for cannot be had now; undefined when it can, is in use, or any will do. */
  async findFault(signal?: AbortSignal): Promise<string | undefined> {
    const { range, tools } = this.#options;
    if (this.#record !== undefined || range === undefined) return undefined;
    return describeOverlap(range, await tools.listRoutes(signal));
  }

  /** Names of links that hang on it. */
  async listPorts(signal?: AbortSignal): Promise<readonly string[]> {
    const { name } = this;
    if (name === undefined || !this.#isOurs(await this.#options.tools.findLink(name, signal))) return [];
    return (await this.#options.tools.listPorts(name, signal)).map(({ ifname }) => ifname);
  }

  /**
   * Deletes bridges of runtimes whose root folder is gone, so that nobody else ever will, and on which nothing hangs.
   * Resolves with their names.
   */
  async removeOrphans(signal?: AbortSignal): Promise<readonly string[]> {
    const { tools, logger } = this.#options;
    const orphans: string[] = [];
    for (const { ifname, ifalias = '', address } of await tools.listBridges(signal)) {
      const [, mark, dir] = ALIAS.exec(ifalias) ?? [];
      if (dir === undefined || !/^podloop[0-9a-f]{8}$/.test(ifname) || address === this.#mac) continue;
      const root = dir.trimStart();
      if (await exists(root)) continue;
      if ((await tools.listPorts(ifname, signal)).length > 0) continue;
      logger.info('Removing the bridge of a runtime that is gone', { bridge: ifname, root });
      await this.#removeBridge(ifname, mark !== undefined, signal);
      orphans.push(ifname);
    }
    return orphans;
  }

  /** Takes it away, and puts back what was changed for it; that there is none is fine. */
  async remove(signal?: AbortSignal): Promise<void> {
    const { tools, dir } = this.#options;
    const { name } = this;
    if (name === undefined) return;
    this.#up = false;
    const link = await tools.findLink(name, signal);
    const wasOff = this.#record?.forwardingWasOff === true || isMarked(link);
    await this.#removeBridge(this.#isOurs(link) ? name : undefined, wasOff, signal);
    await deleteBridgeRecord(dir);
    this.#record = undefined;
  }

  async #takeRange(signal?: AbortSignal): Promise<void> {
    const { range: wanted, tools } = this.#options;
    const routes = await tools.listRoutes(signal);
    const mtu = await this.#findMtu(routes.find(({ dst }) => dst === 'default')?.dev, signal);
    let lastFault = 'every range that would do is taken';
    for (const range of wanted === undefined ? candidateRanges() : [wanted]) {
      const fault = describeOverlap(range, routes);
      lastFault = fault ?? lastFault;
      if (fault !== undefined) continue;
      const record = { range: formatIpv4Range(range), mtu, forwardingWasOff: false };
      await this.#write(record);
      try {
        await this.#make(record, signal);
        await this.#refuseLateOverlap(range, signal);
        return;
      } catch (error) {
        // Nothing of ours is left to undo when the name was somebody else's.
        if (!(error instanceof RangeTakenError)) throw error;
        await deleteBridgeRecord(this.#options.dir);
        this.#record = undefined;
        lastFault = error.message;
      }
    }
    throw refused(lastFault);
  }

  /** Somebody may have taken a part of the range at the same time, with a bridge of another name: then nobody has it. */
  async #refuseLateOverlap(range: Ipv4Range, signal?: AbortSignal): Promise<void> {
    const { tools } = this.#options;
    const fault = describeOverlap(range, await tools.listRoutes(signal));
    if (fault === undefined) return;
    await tools.deleteLink(bridgeNameOf(range), signal);
    throw new RangeTakenError(fault);
  }

  async #make(record: BridgeRecord, signal?: AbortSignal): Promise<void> {
    const { tools, logger } = this.#options;
    const range = parseIpv4Range(record.range)!;
    const name = bridgeNameOf(range);
    if ((await tools.findLink(name, signal)) === undefined) {
      await tools
        .ipBatch([`link add name ${name} address ${this.#mac} mtu ${record.mtu} type bridge`], { signal })
        .catch((error: unknown) => {
          if (!String(error).includes('File exists')) throw error;
        });
    }
    const link = await tools.findLink(name, signal);
    if (!this.#isOurs(link))
      throw new RangeTakenError(`the interface ${name} of that range belongs to somebody else`);
    // A runtime that went has passed it on.
    if (isMarked(link) && !record.forwardingWasOff) await this.#write({ ...record, forwardingWasOff: true });
    const mark = this.#record?.forwardingWasOff === true ? FORWARDING_WAS_OFF : '';
    const unset = await tools.ipBatchWithSettings(
      {
        settings: hostLinkSettings(name),
        lines: [
          `link set dev ${name} alias "${withMark(this.#alias, mark)}" up`,
          `addr replace ${formatIpv4(range.network + 1)}/${range.prefix} brd + dev ${name}`,
        ],
      },
      { signal },
    );
    this.#unwritten.log(unset, { bridge: name });
    logger.info('Bridge for pods is up', { bridge: name, range: record.range }, 2);
  }

  async #findMtu(uplink: string | undefined, signal?: AbortSignal): Promise<number> {
    // Packets that are too long for the way out would be dropped where pods never hear of it.
    const link = uplink === undefined ? undefined : await this.#options.tools.findLink(uplink, signal);
    return Math.min(Math.max(link?.mtu ?? 1500, 1280), 65_535);
  }

  /**
   * Deletes a bridge, if any, and switches forwarding off if it was off before the first bridge and this was the last.
   *
   * What the others need to know is written before the bridge goes, so that a kill in between loses nothing.
   */
  async #removeBridge(name: string | undefined, wasOff: boolean, signal?: AbortSignal): Promise<void> {
    const { tools } = this.#options;
    const others = async (): Promise<readonly LinkInfo[]> =>
      (await tools.listBridges(signal)).filter(
        ({ ifname, ifalias = '' }) => ifname !== name && ALIAS.test(ifalias),
      );
    if (wasOff) for (const other of await others()) await this.#mark(other, signal);
    if (name !== undefined) await tools.deleteLink(name, signal);
    if (wasOff && (await others()).length === 0) await tools.writeSetting(FORWARDING, '0', signal);
  }

  /** Lets a bridge say that forwarding was off. One that has just gone needs it no more. */
  async #mark(link: LinkInfo, signal?: AbortSignal): Promise<void> {
    if (isMarked(link)) return;
    const { tools, logger } = this.#options;
    const alias = withMark(link.ifalias!, FORWARDING_WAS_OFF);
    await tools
      .ipBatch([`link set dev ${link.ifname} alias "${alias}"`], { signal })
      .catch((error: unknown) => {
        signal?.throwIfAborted();
        logger.info('Bridge not marked', { bridge: link.ifname, err: messageOf(error) }, 2);
      });
  }

  /** For people, and for other runtimes once this one's folder is gone. */
  get #alias(): string {
    const { dir } = this.#options;
    // An alias has room for 255 bytes, and `ip` reads words from a line.
    const alias = `podloop ${dir}`;
    return ALIAS.test(alias) ? alias : 'podloop';
  }

  #isOurs(link: LinkInfo | undefined): boolean {
    return link?.linkinfo?.info_kind === 'bridge' && link.address === this.#mac;
  }

  async #write(record: BridgeRecord): Promise<void> {
    await writeBridgeRecord(this.#options.dir, record);
    this.#record = record;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    // What may not be looked at may well be there.
    (error: unknown) => systemCodeOf(error) !== 'ENOENT',
  );
}

class RangeTakenError extends Error {}

function isMarked(link: LinkInfo | undefined): boolean {
  return ALIAS.exec(link?.ifalias ?? '')?.[1] !== undefined;
}

/** An alias of {@link ALIAS} with that mark behind its first word; the mark may be empty. */
function withMark(alias: string, mark: string): string {
  return alias.replace(/^podloop/, `podloop${mark}`);
}

/** A locally administered address that only this root folder's runtime gives. */
function macOf(instance: string): string {
  const hash = createHash('sha256').update(instance).digest('hex');
  return `02:${hash.slice(0, 10).replaceAll(/(..)(?!$)/g, '$1:')}`;
}
