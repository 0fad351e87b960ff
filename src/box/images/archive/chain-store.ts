import { createHash } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { Mutex } from '#base/async/mutex.js';
import { Slots } from '#base/async/slots.js';
import { SingleFlight } from '#base/async/single-flight.js';
import { RecordFile } from '#base/fs/record-file.js';
import { syncPath } from '#base/fs/whole-file.js';
import { type FolderUsage } from '../folder-usage.js';
import { type Layer } from './layer-stream.js';
import { runTool } from '../run-tool.js';
import { type Trash } from '../trash.js';
import { type UnpackLimits } from './unpack-limits.js';
import { unpackInThread } from './unpack-thread.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What {@link ChainStore.open} takes. */
export interface ChainStoreOptions {
  /** Holds a folder for each chain. */
  readonly folder: string;
  readonly trash: Trash;
  readonly logger: Logger;
  readonly privileged: boolean;
  readonly limits: UnpackLimits;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** That of the machine's present boot. */
  readonly bootId: string;
  /** How the file system of a folder is brought to the disk (default: `sync -f`). */
  readonly syncDisk?: ((folder: string, signal: AbortSignal) => Promise<void>) | undefined;
}

/** The layers of an image, the lowest first. */
export interface LayersToUnpack {
  readonly layers: readonly Layer[];
  /** Whether all of them are stored for as long as there is the image; asked once their files are there. */
  readonly areStored: () => boolean;
}

/** What is known of a chain over restarts. */
interface ChainFacts {
  readonly usage: FolderUsage;
  /** The boot in which it was unpacked, as long as its files may be in memory only. */
  readonly unsyncedSince?: string;
}

/** Of images that are unpacked at the same time; others wait. */
const MAX_THREADS = 3;
/** By then the kernel itself has written nearly all of it, so that the sync has little left to do. */
const SYNC_AFTER_MS = 60_000;

/** The name that images with the same layers share: the chain id of the OCI image specification. */
function computeChainId(diffIds: readonly string[]): string {
  const [first = 'none', ...rest] = diffIds;
  return rest.reduce(
    (chain, diffId) => `sha256:${createHash('sha256').update(`${chain} ${diffId}`).digest('hex')}`,
    first,
  );
}

/**
 * The unpacked files of images: one folder for each chain of layers, made once, whole or not at all.
 *
 * One folder for a chain and not one for a layer: what an upper layer removes is then simply not there, while marks of
 * overlayfs for it need attributes that Node cannot write and that only root may.
 *
 * ```
 *   unpacked ──► unsynced ── a minute, then sync ──► on the disk
 *                   └── another boot: its power was lost ──► doubtful ── unpacked again ──► unsynced
 * ```
 *
 * Nobody who pulls waits for the disk where the layers are stored besides, each of them synced: what a loss of power takes
 * away is then unpacked again. Layers of image folders are not stored, so that their files are synced at once.
 */
export class ChainStore {
  readonly #options: ChainStoreOptions;
  readonly #usages: Map<string, FolderUsage>;
  /** Those whose facts cannot be read: their files are there, and nobody knows whether all of them. */
  readonly #damaged: Set<string>;
  readonly #unsynced = new Set<string>();
  readonly #doubtful = new Set<string>();
  readonly #closing = new AbortController();
  #syncTimer: ClockTimer | undefined;
  #syncing: Promise<void> | undefined;
  /** Facts are written and folders removed one after another: no facts get into a folder that came later. */
  readonly #factsChanges = new Mutex();
  readonly #flights = new SingleFlight<void>();
  readonly #threads = new Slots({ limit: MAX_THREADS });
  readonly #holds = new Map<string, number>();
  /** Of chains that are being unpacked: how many bytes of each layer were read, by its digest. */
  readonly #read = new Map<string, Map<string, number>>();

  private constructor(
    options: ChainStoreOptions,
    chains: ReadonlyMap<string, ChainFacts>,
    damaged: ReadonlySet<string>,
  ) {
    this.#options = options;
    this.#usages = new Map([...chains].map(([chainId, { usage }]) => [chainId, usage]));
    this.#damaged = new Set(damaged);
    for (const [chainId, { unsyncedSince }] of chains) {
      if (unsyncedSince === options.bootId) this.#syncLater(chainId);
      else if (unsyncedSince !== undefined) this.#doubtful.add(chainId);
    }
  }

  /** Takes up what is there. */
  static async open(options: ChainStoreOptions): Promise<ChainStore> {
    await makeFolder(options.folder, 0o700);
    const chains = new Map<string, ChainFacts>();
    const damaged = new Set<string>();
    for (const name of await readdir(options.folder)) {
      try {
        const facts = await factsOf(join(options.folder, name)).read();
        if (facts === undefined) throw new Error('there are none');
        chains.set(toChainId(name), facts);
      } catch (error) {
        // Only names that this store gives are removed.
        if (/^sha[0-9]+-[0-9a-f]+$/.test(name)) damaged.add(toChainId(name));
        const message = 'The facts of unpacked layers cannot be read: their images have to be pulled again';
        options.logger.warn(message, { name, err: messageOf(error) });
      }
    }
    return new ChainStore(options, chains, damaged);
  }

  /** Of all that have files here, damaged ones too. */
  get ids(): readonly string[] {
    return [...this.#usages.keys(), ...this.#damaged];
  }

  /** Whether it is unpacked. */
  has(chainId: string): boolean {
    return this.#usages.has(chainId);
  }

  /** Whether a loss of power may have taken files of it: then it has to be unpacked again before it is used. */
  isDoubtful(chainId: string): boolean {
    return this.#doubtful.has(chainId);
  }

  /** Whether all of its files are there. */
  isWhole(chainId: string): boolean {
    return this.has(chainId) && !this.isDoubtful(chainId);
  }

  /** The folder that is the root of its files. */
  rootOf(chainId: string): string {
    return join(this.#options.folder, toName(chainId), 'root');
  }

  /** What all of them take. */
  get usages(): readonly FolderUsage[] {
    return [...this.#usages.values()];
  }

  /** How many of its stored bytes were unpacked of a layer, by its digest; all of it once the chain is there. */
  unpackedBytes(layers: readonly Layer[], { digest, size }: Layer['descriptor']): number {
    const chainId = computeChainId(layers.map(({ diffId }) => diffId));
    return this.has(chainId) ? size : (this.#read.get(chainId)?.get(digest) ?? 0);
  }

  /** Unpacks the layers unless they are, and holds them while `use` runs: {@link collect} leaves them alone. */
  async hold<T>(
    { layers, areStored }: LayersToUnpack,
    signal: AbortSignal,
    use: (chainId: string) => Promise<T>,
  ): Promise<T> {
    const chainId = computeChainId(layers.map(({ diffId }) => diffId));
    this.#holds.set(chainId, (this.#holds.get(chainId) ?? 0) + 1);
    try {
      if (!this.isWhole(chainId)) {
        await this.#flights.run(chainId, (flight) => this.#unpack(chainId, layers, flight.signal), signal);
      }
      if (this.#unsynced.has(chainId) && !areStored()) await this.#sync(signal);
      signal.throwIfAborted();
      return await use(chainId);
    } finally {
      const left = this.#holds.get(chainId)! - 1;
      if (left > 0) this.#holds.set(chainId, left);
      else this.#holds.delete(chainId);
    }
  }

  /** Throws away what is neither needed nor held. */
  async collect(isNeeded: (chainId: string) => boolean): Promise<void> {
    for (const chainId of this.ids) {
      await this.#factsChanges.run(async () => {
        if (isNeeded(chainId) || this.#holds.has(chainId)) return;
        this.#forget(chainId);
        this.#damaged.delete(chainId);
        await this.#options.trash.discard(join(this.#options.folder, toName(chainId)));
      });
    }
  }

  /** Gives up a doubtful chain whose layers cannot be unpacked again: its image has to be pulled. */
  giveUp(chainId: string): void {
    if (!this.#doubtful.has(chainId)) return;
    this.#forget(chainId);
    this.#damaged.add(chainId);
  }

  /** Breaks off a sync: what it was for is synced after the next start, or unpacked again in another boot. */
  async close(): Promise<void> {
    this.#syncTimer?.cancel();
    this.#closing.abort();
    await this.#syncing;
  }

  #forget(chainId: string): void {
    this.#usages.delete(chainId);
    this.#unsynced.delete(chainId);
    this.#doubtful.delete(chainId);
  }

  async #unpack(chainId: string, layers: readonly Layer[], signal: AbortSignal): Promise<void> {
    const { trash, folder, logger, privileged, limits, bootId } = this.#options;
    if (this.isWhole(chainId)) return;
    const temporary = await trash.makeFolder();
    const read = new Map<string, number>();
    this.#read.set(chainId, read);
    try {
      const root = join(temporary, 'root');
      const { report, usage } = await this.#threads.run(
        undefined,
        () =>
          unpackInThread(
            { root, privileged, limits },
            layers,
            (digest, bytes) => void read.set(digest, bytes),
            signal,
          ),
        signal,
      );
      if (report.devices + report.attributes > 0)
        logger.warn('Parts of an image were left out', { ...report });
      await factsOf(temporary).write({ usage, unsyncedSince: bootId });
      signal.throwIfAborted();
      const place = join(folder, toName(chainId));
      // A folder without facts that an earlier version or a hand has left, or a doubtful one.
      await trash.discard(place);
      await rename(temporary, place);
      await syncPath(folder);
      this.#usages.set(chainId, usage);
      this.#damaged.delete(chainId);
      this.#doubtful.delete(chainId);
      this.#syncLater(chainId);
    } catch (error) {
      await trash.discard(temporary);
      throw error;
    } finally {
      this.#read.delete(chainId);
    }
  }

  #syncLater(chainId: string): void {
    this.#unsynced.add(chainId);
    this.#startSyncTimer();
  }

  /** All that are unpacked until then share one sync; what it could not sync is synced by the next one. */
  #startSyncTimer(): void {
    this.#syncTimer ??= this.#options.clock.setTimer(
      SYNC_AFTER_MS,
      () => {
        this.#syncTimer = undefined;
        this.#syncing = this.#sync(this.#closing.signal).finally(() => {
          this.#syncing = undefined;
          if (this.#unsynced.size > 0 && !this.#closing.signal.aborted) this.#startSyncTimer();
        });
      },
      { unref: true },
    );
  }

  /**
   * Brings all that is unpacked to the disk, with one call for its whole file system: a call for each file would take
   * minutes. Never rejects; what could not be synced stays as it is, for the next sync.
   */
  async #sync(signal: AbortSignal): Promise<void> {
    const { folder, syncDisk = syncWithTool } = this.#options;
    const pending = [...this.#unsynced].map((chainId) => [chainId, this.#usages.get(chainId)!] as const);
    try {
      await syncDisk(folder, signal);
    } catch (error) {
      if (!signal.aborted) this.#warnOfSync(error);
      return;
    }
    for (const [chainId, usage] of pending)
      await this.#factsChanges.run(async () => {
        // It may have been removed meanwhile, and unpacked again.
        if (this.#usages.get(chainId) !== usage || !this.#unsynced.has(chainId)) return;
        try {
          await factsOf(join(folder, toName(chainId))).write({ usage });
          // Only now: whoever finds it synced may rely on its facts.
          this.#unsynced.delete(chainId);
        } catch (error) {
          this.#warnOfSync(error, chainId);
        }
      });
  }

  #warnOfSync(error: unknown, chainId?: string): void {
    this.#options.logger.warn('Unpacked images may not be on the disk: a loss of power may cost them', {
      ...(chainId !== undefined && { chainId }),
      err: messageOf(error),
    });
  }
}

function syncWithTool(folder: string, signal: AbortSignal): Promise<void> {
  return runTool('sync', ['-f', folder], signal);
}

function toName(chainId: string): string {
  return chainId.replace(':', '-');
}

function toChainId(name: string): string {
  return name.replace('-', ':');
}

/** The file that says how much the unpacked layers in a folder take, and whether they are on the disk. */
function factsOf(folder: string): RecordFile<ChainFacts> {
  return new RecordFile({
    path: join(folder, 'facts.json'),
    format: ({ usage: { bytes, inodes }, ...rest }) => ({
      bytes: String(bytes),
      inodes: String(inodes),
      ...rest,
    }),
    parse: (content) => {
      const { bytes, inodes, unsyncedSince } = content as Readonly<Record<string, string | undefined>>;
      const usage = { bytes: BigInt(bytes!), inodes: BigInt(inodes!) };
      return { usage, ...(unsyncedSince !== undefined && { unsyncedSince }) };
    },
  });
}
