/**
 * How each image on the node was fetched: under which names, and with which logins, over restarts of the agent.
 *
 * ```
 *   nothing known ── a pull with a login begins ──► begun ── it ends ──► on record
 *        │                                            │                     ▲   │
 *        │                               nobody saw its end: its image ─────┘   │
 *        └── a pull without a login ends ───────────────────────────────────────┤
 *        ◄──────────────────── the image is gone ───────────────────────────────┘
 * ```
 *
 * In: pulls, and looks at all images. Out: what is known of an image. It assumes that an agent may end at any point and a
 * file may be damaged. What covers it: that a pull begins is on the disk before the runtime is asked, and an image of which
 * nobody knows how it came is known to be one of those. All of it is in memory; the disk is read at the start alone.
 *
 * A pull without a login leaves no word that it began: what it brings is for every pod, as what others have brought.
 *
 * @module
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { type Clock } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';
import { type RegistryLogin } from './docker-config.js';
import { fullNameOf, repositoryOf } from './image-name.js';
import { type KeptPulls, keyOf, PullRecordFiles } from './pull-record-files.js';
import { type PulledNames, type UsedLogin, withPull } from './pulled-names.js';

/** What {@link PullRecords} is made with. */
export interface PullRecordsOptions {
  /** Of the agent's own; made when it is needed. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** A pull with a login that has begun. */
export interface BegunPull {
  readonly image: string;
}

interface PulledRecord {
  /** Undefined when it was read: only its key is known. */
  readonly id: string | undefined;
  readonly names: PulledNames;
  /** Monotonic time of the last pull; before all time when an earlier agent saw it. */
  readonly pulledAtMs: number;
}

interface Begun {
  /** How many are under way. */
  readonly pulls: number;
  /** Since when there is one of which nobody will see the end, by monotonic time. */
  readonly lostAtMs: number | undefined;
}

const UNKNOWN: PulledNames = new Map();
/** A runtime ends a pull whose caller is gone; that is more than it takes for it. */
const LOST_PULL_MS = 2 * 60_000;

/** See the module. */
export class PullRecords {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #files: PullRecordFiles;
  /** By the key of the id. */
  readonly #pulled = new Map<string, PulledRecord>();
  /** By the key of the full name. */
  readonly #begun = new Map<string, Begun>();
  readonly #isPartial: boolean;
  readonly #hashKey: Buffer;
  /** What the disk has of both. */
  readonly #kept = new Map<string, PulledNames>();
  readonly #keptBegun = new Set<string>();
  #isHashKeyKept: boolean;
  /** The turn of the newest write; never rejects. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    { clock, logger = SILENT_LOGGER }: PullRecordsOptions,
    files: PullRecordFiles,
    kept: KeptPulls,
  ) {
    this.#clock = clock;
    this.#logger = logger;
    this.#files = files;
    for (const [key, names] of kept.pulled) {
      this.#pulled.set(key, { id: undefined, names, pulledAtMs: -Infinity });
      this.#kept.set(key, names);
    }
    for (const key of kept.begun) {
      this.#begun.set(key, { pulls: 0, lostAtMs: clock.monotonicMs() });
      this.#keptBegun.add(key);
    }
    this.#isPartial = kept.isPartial;
    this.#hashKey = kept.hashKey ?? randomBytes(32);
    this.#isHashKeyKept = kept.hashKey !== undefined;
  }

  /** Reads what earlier agents have left. Never rejects. */
  static async open(options: PullRecordsOptions): Promise<PullRecords> {
    const files = new PullRecordFiles(options.folder, options.logger ?? SILENT_LOGGER);
    return new PullRecords(options, files, await files.load());
  }

  /** How many records and beginnings are on the disk. */
  get counts(): { readonly pulled: number; readonly begun: number } {
    return { pulled: this.#kept.size, begun: this.#keptBegun.size };
  }

  /** The same for the same login, on this node. */
  hashOf({ username, password }: RegistryLogin): string {
    return createHmac('sha256', this.#hashKey)
      .update(JSON.stringify([username, password]))
      .digest('hex');
  }

  /** How an image was fetched that a pod asks for by that name; undefined when it was not fetched by us. */
  findNames(image: RuntimeImage, asked: string): PulledNames | undefined {
    const known = this.#pulled.get(keyOf(image.id));
    if (known !== undefined) return known.names;
    return this.#isPartial || this.#hasBegun(image, asked) ? UNKNOWN : undefined;
  }

  /**
   * A pull with a login is about to begin; `present` is what has the name now. Resolves when that is on the disk; rejects
   * where it cannot be, and then the pull must not begin.
   */
  async begin(image: string, present: RuntimeImage | undefined): Promise<BegunPull> {
    const key = keyOfName(image);
    const { pulls = 0, lostAtMs } = this.#begun.get(key) ?? {};
    this.#begun.set(key, { pulls: pulls + 1, lostAtMs });
    try {
      // The name may mean another image soon, and what has it now may be of a pull that nobody saw end.
      if (lostAtMs !== undefined && present !== undefined && !(await this.#takeForUnknown(present))) {
        throw new Error('what has its name now cannot be kept on the disk');
      }
      await this.#inTurn(async () => {
        if (this.#keptBegun.has(key)) return;
        await this.#files.writeBegun(key, image);
        this.#keptBegun.add(key);
      });
    } catch (error) {
      this.#change(key, { pulls: (this.#begun.get(key)?.pulls ?? 1) - 1 });
      await this.#dropIfOver(key);
      throw new Error(
        `Failed to record image pull intent for container image "${image}": ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
    return { image };
  }

  /**
   * It ended; `isLost`: the runtime may have fetched the image, or may do so yet, and nobody will say so. That is settled by a
   * look at all images alone: how another pull of the same name ends says nothing of it.
   */
  async end({ image }: BegunPull, isLost: boolean): Promise<void> {
    const key = keyOfName(image);
    const { pulls = 1, lostAtMs } = this.#begun.get(key) ?? {};
    this.#change(key, { pulls: pulls - 1, lostAtMs: isLost ? this.#clock.monotonicMs() : lostAtMs });
    await this.#dropIfOver(key);
  }

  /**
   * An image was fetched by that name, without a login where there is none. Resolves with whether that is on the disk;
   * holds in any case.
   */
  async record(id: string, image: string, login: UsedLogin | undefined): Promise<boolean> {
    const key = keyOf(id);
    const names = this.#pulled.get(key)?.names ?? UNKNOWN;
    const after = withPull(names, repositoryOf(image) ?? image, login);
    this.#pulled.set(key, { id, names: after, pulledAtMs: this.#clock.monotonicMs() });
    return this.#keep(key);
  }

  /** A login counts for an image, too, that was judged to. Holds at once, and goes to the disk when it may. */
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

  /** All images that there are, in a look that began at that monotonic time. What is gone is forgotten. Never rejects. */
  async keepOnly(images: readonly RuntimeImage[], sinceMs: number): Promise<void> {
    await this.#settleLost(images, sinceMs);
    const present = new Set(images.map(({ id }) => keyOf(id)));
    for (const key of [...this.#pulled.keys()]) if (!present.has(key)) await this.#forget(key, sinceMs);
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  /** Of pulls of which nobody saw the end: by now they have ended, and what has their name may be of them. */
  async #settleLost(images: readonly RuntimeImage[], sinceMs: number): Promise<void> {
    for (const [key, { pulls, lostAtMs }] of [...this.#begun]) {
      if (pulls > 0 || lostAtMs === undefined || sinceMs - lostAtMs < LOST_PULL_MS) continue;
      let isKept = true;
      for (const image of images) {
        if (!keysOf(image).includes(key)) continue;
        if (!(await this.#takeForUnknown(image))) isKept = false;
      }
      const now = this.#begun.get(key);
      if (!isKept || now === undefined || now.pulls > 0 || now.lostAtMs !== lostAtMs) continue;
      this.#change(key, { lostAtMs: undefined });
      await this.#dropIfOver(key);
    }
  }

  /** Unless more is known of it. Resolves with whether what is known is on the disk. */
  async #takeForUnknown({ id }: RuntimeImage): Promise<boolean> {
    const key = keyOf(id);
    if (!this.#pulled.has(key)) {
      this.#pulled.set(key, { id, names: UNKNOWN, pulledAtMs: this.#clock.monotonicMs() });
    }
    return this.#keep(key);
  }

  #hasBegun(image: RuntimeImage, asked: string): boolean {
    if (this.#begun.size === 0) return false;
    return [keyOfName(asked), ...keysOf(image)].some((key) => this.#begun.has(key));
  }

  #change(key: string, change: Partial<Begun>): void {
    this.#begun.set(key, { ...(this.#begun.get(key) ?? { pulls: 0, lostAtMs: undefined }), ...change });
  }

  async #dropIfOver(key: string): Promise<void> {
    await this.#inTurn(async () => {
      const { pulls, lostAtMs } = this.#begun.get(key) ?? { pulls: 1, lostAtMs: undefined };
      if (pulls > 0 || lostAtMs !== undefined) return;
      this.#begun.delete(key);
      this.#keptBegun.delete(key);
      await this.#files.removeBegun(key);
    });
  }

  async #forget(key: string, sinceMs: number): Promise<void> {
    const known = this.#pulled.get(key);
    if (known === undefined || known.pulledAtMs >= sinceMs) return;
    this.#pulled.delete(key);
    await this.#inTurn(async () => {
      if (this.#pulled.has(key)) return;
      this.#kept.delete(key);
      await this.#files.removeRecord(key);
    });
  }

  /** Brings a record to the disk, where that does not say the same. Never rejects. */
  async #keep(key: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const { id, names } = this.#pulled.get(key) ?? { id: undefined, names: UNKNOWN };
      if (this.#kept.get(key) === names) return true;
      if (id === undefined) return false;
      try {
        if (!this.#isHashKeyKept && [...names.values()].some((access) => access !== 'anyone')) {
          await this.#files.writeHashKey(this.#hashKey);
          this.#isHashKeyKept = true;
        }
        await this.#files.writeRecord(key, id, names);
        this.#kept.set(key, names);
        return true;
      } catch (error) {
        this.#logger.error('How an image was pulled cannot be kept on the disk', error, { imageID: id });
        return false;
      }
    });
  }

  async #inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(change);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

function keyOfName(image: string): string {
  return keyOf(fullNameOf(image) ?? image);
}

/** Of all the names that it has. */
function keysOf({ tags, digests }: RuntimeImage): string[] {
  return [...tags, ...digests].map(keyOfName);
}
