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
 * In: pulls, looks at all images, and what a kubelet knew before. Out: what is known of an image. It assumes that an agent may
 * end at any point and a file may be damaged. What covers it: that a pull begins is on the disk before the runtime is asked,
 * and an image of which nobody knows how it came is known to be one of those. All of it is in memory; the disk is read at the
 * start alone.
 *
 * It assumes as well that a runtime may show less than it has. What covers it: an image is gone when it was removed, or when two
 * looks in a row have missed it, and a look that shows nothing at all says nothing. And another runtime may stand behind the same
 * records for a while. An id stands for the same content in each, so what is known holds in all of them; but each record says in
 * which runtimes its image was pulled, and is forgotten when it is gone from every one of these.
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
import { Absences } from './absences.js';
import { type RegistryLogin } from './docker-config.js';
import { fullNameOf, repositoryOf } from './image-name.js';
import { type KubeletPulls } from './kubelet-pulls.js';
import {
  type KeptBeginning,
  type KeptPulls,
  type KeptRecord,
  keyOf,
  PullRecordFiles,
} from './pull-record-files.js';
import { type PulledNames, type UsedLogin, withOthers, withPull } from './pulled-names.js';

/** What {@link PullRecords} is made with. */
export interface PullRecordsOptions {
  /** Of the agent's own; made when it is needed. */
  readonly folder: string;
  /** Which runtime has the images: the same text for the same one. */
  readonly runtime: string;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** A pull with a login that has begun. */
export interface BegunPull {
  readonly image: string;
}

interface PulledRecord extends KeptRecord {
  /** Monotonic time of the last pull; before all time when an earlier agent saw it. */
  readonly pulledAtMs: number;
}

interface Begun {
  readonly name: string;
  /** How many are under way. */
  readonly pulls: number;
  /** Since when there is one of which nobody will see the end, by monotonic time. */
  readonly lostAtMs: number | undefined;
  /** Other runtimes in which one has begun: here nobody can see what became of it. */
  readonly elsewhere: readonly string[];
}

const UNKNOWN: PulledNames = new Map();
/** A runtime ends a pull whose caller is gone; that is more than it takes for it. */
const LOST_PULL_MS = 2 * 60_000;
const NOT_BEGUN: Begun = { name: '', pulls: 0, lostAtMs: undefined, elsewhere: [] };
/** Stands for a pull of which nobody knows the name. It is none of an image. */
const ANY_NAME = '*';
const ANY_KEY = keyOf(ANY_NAME);

/** See the module. */
export class PullRecords {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #files: PullRecordFiles;
  readonly #runtime: string;
  /** By the key of the id. */
  readonly #pulled = new Map<string, PulledRecord>();
  /** By the key of the full name. */
  readonly #begun = new Map<string, Begun>();
  readonly #isPartial: boolean;
  readonly #hashKey: Buffer;
  /** What the disk has of both. */
  readonly #kept = new Map<string, KeptRecord>();
  readonly #keptBegun = new Map<string, KeptBeginning>();
  readonly #missed = { images: new Absences(), names: new Absences() };
  #isHashKeyKept: boolean;
  /** The turn of the newest write; never rejects. */
  #turn: Promise<unknown> = Promise.resolve();

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
    for (const [key, beginning] of kept.begun) {
      const { name, runtimes } = beginning;
      const lostAtMs = runtimes.includes(runtime) ? clock.monotonicMs() : undefined;
      this.#begun.set(key, { name, pulls: 0, lostAtMs, elsewhere: without(runtimes, runtime) });
      this.#keptBegun.set(key, beginning);
    }
    this.#isPartial = kept.isPartial;
    this.#hashKey = kept.hashKey ?? randomBytes(32);
    this.#isHashKeyKept = kept.hashKey !== undefined;
  }

  /** Reads what earlier agents have left. Never rejects. */
  static async open(options: PullRecordsOptions): Promise<PullRecords> {
    const files = new PullRecordFiles(options.folder, options.logger ?? SILENT_LOGGER);
    return new PullRecords(options, files, await files.load(options.runtime));
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
    const known = idKeysOf(image).find((key) => this.#pulled.has(key));
    if (known !== undefined) return this.#pulled.get(known)!.names;
    return this.#isPartial || this.#hasBegun(image, asked) ? UNKNOWN : undefined;
  }

  /**
   * A pull with a login is about to begin; `present` is what has the name now. Resolves when that is on the disk; rejects
   * where it cannot be, and then the pull must not begin.
   */
  async begin(image: string, present: RuntimeImage | undefined): Promise<BegunPull> {
    const key = keyOfName(image);
    const { pulls, lostAtMs } = this.#begun.get(key) ?? NOT_BEGUN;
    this.#change(key, { name: image, pulls: pulls + 1 });
    try {
      // The name may mean another image soon, and what has it now may be of a pull that nobody saw end.
      if (lostAtMs !== undefined && present !== undefined && !(await this.#takeForUnknown(present))) {
        throw new Error('what has its name now cannot be kept on the disk');
      }
      await this.#keepBegun(key);
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
    const { pulls, lostAtMs } = this.#begun.get(key) ?? { ...NOT_BEGUN, pulls: 1 };
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
    this.#setPulled(key, id, withPull(names, repositoryOf(image) ?? image, login));
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

  /**
   * All images that there are, in a look that began at that monotonic time. What two looks in a row have missed is forgotten.
   * Never rejects.
   */
  async keepOnly(images: readonly RuntimeImage[], sinceMs: number): Promise<void> {
    if (images.length === 0) return;
    await this.#settleLost(images, sinceMs);
    const present = new Set(images.flatMap(idKeysOf));
    for (const [key, { pulledAtMs }] of [...this.#pulled]) {
      if (present.has(key)) this.#missed.images.saw(key);
      else if (pulledAtMs < sinceMs && this.#missed.images.missed(key, sinceMs))
        await this.#forget(key, sinceMs);
    }
  }

  /**
   * Adds what a kubelet knew of the images that are here; it has ended, and so nobody sees the end of what it had begun.
   * Resolves with whether all of that is on the disk; holds in any case.
   */
  async takeOver({ pulled, begun, isPartial }: KubeletPulls): Promise<boolean> {
    let isKept = true;
    for (const [key, { id, names }] of pulled) {
      const known = this.#pulled.get(key);
      this.#setPulled(key, id ?? known?.id, withOthers(known?.names ?? UNKNOWN, names));
      if (!(await this.#keep(key))) isKept = false;
    }
    for (const name of isPartial ? [...begun, ANY_NAME] : begun) {
      const key = keyOfName(name);
      this.#change(key, { name, lostAtMs: this.#clock.monotonicMs() });
      try {
        await this.#keepBegun(key);
      } catch (error) {
        this.#logger.error('That a pull had begun cannot be kept on the disk', error, { image: name });
        isKept = false;
      }
    }
    return isKept;
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
      const its = key === ANY_KEY ? images : images.filter((image) => keysOf(image).includes(key));
      for (const image of its) if (!(await this.#takeForUnknown(image))) isKept = false;
      // A name means one image, so that one which is found is all that there is to find.
      const isFound = key !== ANY_KEY && its.length > 0;
      if (!isFound && !this.#missed.names.missed(key, sinceMs)) continue;
      const now = this.#begun.get(key);
      if (!isKept || now === undefined || now.pulls > 0 || now.lostAtMs !== lostAtMs) continue;
      this.#change(key, { lostAtMs: undefined });
      await this.#dropIfOver(key);
    }
  }

  /** Unless more is known of it. Resolves with whether what is known is on the disk. */
  async #takeForUnknown(image: RuntimeImage): Promise<boolean> {
    const key = idKeysOf(image).find((each) => this.#pulled.has(each)) ?? keyOf(image.id);
    const known = this.#pulled.get(key);
    if (known === undefined) this.#setPulled(key, image.id, UNKNOWN);
    else this.#pulled.set(key, { ...known, runtimes: withOne(known.runtimes, this.#runtime) });
    return this.#keep(key);
  }

  /** Of an image that was pulled here. */
  #setPulled(key: string, id: string | undefined, names: PulledNames): void {
    const runtimes = withOne(this.#pulled.get(key)?.runtimes ?? [], this.#runtime);
    this.#pulled.set(key, { id, names, runtimes, pulledAtMs: this.#clock.monotonicMs() });
    this.#missed.images.saw(key);
  }

  #hasBegun(image: RuntimeImage, asked: string): boolean {
    if (this.#begun.size === 0) return false;
    return [ANY_KEY, keyOfName(asked), ...keysOf(image)].some((key) => this.#begun.has(key));
  }

  #change(key: string, change: Partial<Begun>): void {
    this.#begun.set(key, { ...(this.#begun.get(key) ?? NOT_BEGUN), ...change });
    this.#missed.names.saw(key);
  }

  /** Never rejects: where it stays on the disk, it asks for a login where none is needed. */
  async #dropIfOver(key: string): Promise<void> {
    const { pulls, lostAtMs } = this.#begun.get(key) ?? { ...NOT_BEGUN, pulls: 1 };
    if (pulls > 0 || lostAtMs !== undefined) return;
    await this.#keepBegun(key).catch((error: unknown) => {
      this.#logger.error('That a pull is over cannot be kept on the disk', error, { key });
    });
  }

  /** Brings to the disk where pulls of that name have begun, and forgets the name where there are none. */
  async #keepBegun(key: string): Promise<void> {
    await this.#inTurn(async () => {
      const { name, pulls, lostAtMs, elsewhere } = this.#begun.get(key) ?? NOT_BEGUN;
      const isHere = pulls > 0 || lostAtMs !== undefined;
      const runtimes = isHere ? withOne(elsewhere, this.#runtime) : elsewhere;
      if (runtimes.length === 0) {
        this.#begun.delete(key);
        this.#missed.names.saw(key);
        this.#keptBegun.delete(key);
        await this.#files.removeBegun(key);
        return;
      }
      const kept = this.#keptBegun.get(key)?.runtimes;
      if (kept?.length === runtimes.length && runtimes.every((each) => kept.includes(each))) return;
      const beginning = { name, runtimes };
      await this.#files.writeBegun(key, beginning);
      this.#keptBegun.set(key, beginning);
    });
  }

  /** Here; where it was pulled elsewhere, too, it may be there still. */
  async #forget(key: string, sinceMs: number): Promise<void> {
    const known = this.#pulled.get(key);
    if (known === undefined || known.pulledAtMs >= sinceMs || !known.runtimes.includes(this.#runtime)) return;
    this.#missed.images.saw(key);
    const runtimes = without(known.runtimes, this.#runtime);
    if (runtimes.length > 0) {
      this.#pulled.set(key, { ...known, runtimes });
      await this.#keep(key);
      return;
    }
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

/** Of what a runtime may have given as the reference of an image that it has pulled: the id, or a name with a digest. */
function idKeysOf({ id, digests }: RuntimeImage): string[] {
  return [id, ...digests].map(keyOf);
}

function withOne(all: readonly string[], one: string): readonly string[] {
  return all.includes(one) ? all : [...all, one];
}

function without(all: readonly string[], one: string): readonly string[] {
  return all.filter((each) => each !== one);
}

/** Of all the names that it has. */
function keysOf({ tags, digests }: RuntimeImage): string[] {
  return [...tags, ...digests].map(keyOfName);
}
