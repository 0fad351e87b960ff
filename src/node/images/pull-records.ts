/**
 * How each image on the node was pulled: under which names and with which logins, over restarts of the agent.
 *
 * ```
 *   nothing known ── a pull with a login begins ──► begun ── it ends ──► on record
 *        │                                            │                     ▲   │
 *        │                               nobody saw its end: its image ─────┘   │
 *        └── a pull without a login ends ───────────────────────────────────────┤
 *        ◄──────────────────── the image is gone ───────────────────────────────┘
 * ```
 *
 * In: pulls, lists of all images, and the records of a former kubelet. Out: what is known about an image. It
 * assumes that an agent may end at any point and that a file may be damaged. So the beginning of a pull is
 * stored separately ({@link PullBeginnings}), and an image with an unreadable record still counts as pulled.
 * Everything is in memory; the disk is read only at the start.
 *
 * It also assumes that a runtime may show less than it has. So an image is gone when it was removed, or when
 * two lists in a row lack it; an empty list says nothing. Another runtime may use the same records for a
 * while. An id stands for the same content in each, so knowledge is valid in all of them. But each record
 * names the runtimes that pulled its image, and is forgotten when the image is gone from all of these.
 *
 * A pull without a login has no recorded beginning: its image is for every pod, like images that others have
 * pulled.
 *
 * @module
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { Absences } from '#base/async/absences.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { Mutex } from '#base/async/mutex.js';
import { type RegistryLogin } from './docker-config.js';
import { repositoryOf } from '#kube/container/image-name.js';
import { type KubeletPulls } from './kubelet-pulls.js';
import { type BegunPull, PullBeginnings } from './pull-beginnings.js';
import {
  type KeptPulls,
  type KeptRecord,
  keyOf,
  PullRecordFiles,
  withoutRuntime,
  withRuntime,
} from './pull-record-files.js';
import { type PulledNames, type UsedLogin, withOthers, withPull } from './pulled-names.js';

/** Options of {@link PullRecords}. */
export interface PullRecordsOptions {
  /** The agent's own folder; created when it is needed. */
  readonly folder: string;
  /** Identifies the runtime that has the images: the same text for the same runtime. */
  readonly runtime: string;
  readonly clock: Clock;
  readonly logger?: Logger;
}

interface PulledRecord extends KeptRecord {
  /** Monotonic time of the last pull; -Infinity if an earlier agent saw it. */
  readonly pulledAtMs: number;
}

const UNKNOWN: PulledNames = new Map();

/** See the module. */
export class PullRecords {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #files: PullRecordFiles;
  readonly #changes = new Mutex();
  readonly #runtime: string;
  /** By the key of the id. */
  readonly #pulled = new Map<string, PulledRecord>();
  readonly #beginnings: PullBeginnings;
  readonly #isPartial: boolean;
  readonly #hashKey: Buffer;
  /** Their state on disk. */
  readonly #kept = new Map<string, KeptRecord>();
  readonly #missed = new Absences();
  #isHashKeyKept: boolean;

  private constructor(
    { clock, runtime, logger = SILENT_LOGGER }: PullRecordsOptions,
    files: PullRecordFiles,
    kept: KeptPulls,
  ) {
    this.#clock = clock;
    this.#logger = logger;
    this.#files = files;
    this.#runtime = runtime;
    for (const [key, record] of kept.pulled) {
      this.#pulled.set(key, { ...record, pulledAtMs: -Infinity });
      this.#kept.set(key, record);
    }
    this.#beginnings = new PullBeginnings({
      ...{ files, changes: this.#changes, kept: kept.begun, runtime, clock, logger },
      keepUnknown: async (image) => this.#keepUnknown(image),
    });
    this.#isPartial = kept.isPartial;
    this.#hashKey = kept.hashKey ?? randomBytes(32);
    this.#isHashKeyKept = kept.hashKey !== undefined;
  }

  /** Reads what earlier agents have left. Never rejects. */
  static async open(options: PullRecordsOptions): Promise<PullRecords> {
    const files = new PullRecordFiles(options.folder, options.logger ?? SILENT_LOGGER);
    return new PullRecords(options, files, await files.load(options.runtime));
  }

  /** How many records and beginnings are on disk. */
  get counts(): { readonly pulled: number; readonly begun: number } {
    return { pulled: this.#kept.size, begun: this.#beginnings.keptCount };
  }

  /** The hash of a login: the same for the same login on this node. */
  hashOf({ username, password }: RegistryLogin): string {
    return createHmac('sha256', this.#hashKey)
      .update(JSON.stringify([username, password]))
      .digest('hex');
  }

  /** How the image was pulled that a pod requests by that name; undefined when this agent did not pull it. */
  findNames(image: RuntimeImage, asked: string): PulledNames | undefined {
    const known = idKeysOf(image).find((key) => this.#pulled.has(key));
    if (known !== undefined) return this.#pulled.get(known)!.names;
    return this.#isPartial || this.#beginnings.mayHaveBrought(image, asked) ? UNKNOWN : undefined;
  }

  /** See {@link PullBeginnings.begin}. */
  async begin(image: string, present: RuntimeImage | undefined): Promise<BegunPull> {
    return this.#beginnings.begin(image, present);
  }

  /** See {@link PullBeginnings.end}. */
  async end(begun: BegunPull, isLost: boolean): Promise<void> {
    await this.#beginnings.end(begun, isLost);
  }

  /**
   * Records a pull of an image by that name; without a login if there was none.
   *
   * Resolves with whether that is on disk; takes effect in any case.
   */
  async record(id: string, image: string, login: UsedLogin | undefined): Promise<boolean> {
    const key = keyOf(id);
    const names = this.#pulled.get(key)?.names ?? UNKNOWN;
    this.#setPulled(key, id, withPull(names, repositoryOf(image) ?? image, login));
    return this.#keep(key);
  }

  /** Adds a login that was accepted for an image. Takes effect at once, and is written later. */
  note(id: string, image: string, login: UsedLogin): void {
    const key = keyOf(id);
    const known = this.#pulled.get(key);
    if (known === undefined) return;
    this.#pulled.set(key, {
      ...known,
      id,
      names: withPull(known.names, repositoryOf(image) ?? image, login),
    });
    void this.#keep(key);
  }

  /** An image was removed, at that monotonic time or later. Never rejects. */
  async forget(id: string, sinceMs: number): Promise<void> {
    await this.#forget(keyOf(id), sinceMs);
  }

  /**
   * Forgets images that two lists in a row lack; `images` come from a list that began at that monotonic time.
   * Never rejects.
   */
  async keepOnly(images: readonly RuntimeImage[], sinceMs: number): Promise<void> {
    if (images.length === 0) return;
    await this.#beginnings.settleLost(images, sinceMs);
    const present = new Set(images.flatMap(idKeysOf));
    for (const [key, { pulledAtMs }] of [...this.#pulled]) {
      if (present.has(key)) this.#missed.saw(key);
      else if (pulledAtMs < sinceMs && this.#missed.missed(key, sinceMs)) await this.#forget(key, sinceMs);
    }
  }

  /**
   * Adds a kubelet's knowledge of the images; as it has ended, nobody sees the end of its unfinished pulls.
   *
   * Resolves with whether all of that is on disk; takes effect in any case.
   */
  async takeOver({ pulled, begun, isPartial }: KubeletPulls): Promise<boolean> {
    let isKept = true;
    for (const [key, { id, names }] of pulled) {
      const known = this.#pulled.get(key);
      this.#setPulled(key, id ?? known?.id, withOthers(known?.names ?? UNKNOWN, names));
      if (!(await this.#keep(key))) isKept = false;
    }
    if (!(await this.#beginnings.takeOver(begun, isPartial))) isKept = false;
    return isKept;
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#changes.settled();
  }

  /** Does nothing if more is known. Resolves with whether the present knowledge is on disk. */
  async #keepUnknown(image: RuntimeImage): Promise<boolean> {
    const key = idKeysOf(image).find((each) => this.#pulled.has(each)) ?? keyOf(image.id);
    const known = this.#pulled.get(key);
    if (known === undefined) this.#setPulled(key, image.id, UNKNOWN);
    else this.#pulled.set(key, { ...known, runtimes: withRuntime(known.runtimes, this.#runtime) });
    return this.#keep(key);
  }

  /** For an image that was pulled here. */
  #setPulled(key: string, id: string | undefined, names: PulledNames): void {
    const runtimes = withRuntime(this.#pulled.get(key)?.runtimes ?? [], this.#runtime);
    this.#pulled.set(key, { id, names, runtimes, pulledAtMs: this.#clock.monotonicMs() });
    this.#missed.saw(key);
  }

  /** Forgets it for this runtime; if it was pulled elsewhere, too, it may still be there. */
  async #forget(key: string, sinceMs: number): Promise<void> {
    const known = this.#pulled.get(key);
    if (known === undefined || known.pulledAtMs >= sinceMs || !known.runtimes.includes(this.#runtime)) return;
    this.#missed.saw(key);
    const runtimes = withoutRuntime(known.runtimes, this.#runtime);
    if (runtimes.length > 0) {
      this.#pulled.set(key, { ...known, runtimes });
      await this.#keep(key);
      return;
    }
    this.#pulled.delete(key);
    await this.#changes.run(async () => {
      if (this.#pulled.has(key)) return;
      this.#kept.delete(key);
      await this.#files.removeRecord(key);
    });
  }

  /** Writes a record if the disk has another version. Never rejects. */
  async #keep(key: string): Promise<boolean> {
    return this.#changes.run(async () => {
      const record = this.#pulled.get(key);
      const kept = this.#kept.get(key);
      if (record === undefined) return kept === undefined;
      const { id, names, runtimes } = record;
      if (kept?.names === names && kept.runtimes === runtimes) return true;
      try {
        if (!this.#isHashKeyKept && [...names.values()].some((access) => access !== 'anyone')) {
          await this.#files.writeHashKey(this.#hashKey);
          this.#isHashKeyKept = true;
        }
        await this.#files.writeRecord(key, record);
        this.#kept.set(key, { id, names, runtimes });
        return true;
      } catch (error) {
        this.#logger.error('The pull of an image cannot be recorded on the disk', error, { imageID: id });
        return false;
      }
    });
  }
}

/**
 * Keys of what a runtime may have returned as the reference of a pulled image: the id, or a name with a
 * digest.
 */
function idKeysOf({ id, digests }: RuntimeImage): string[] {
  return [id, ...digests].map(keyOf);
}
