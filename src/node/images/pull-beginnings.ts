/**
 * Pulls with a login that have begun: an image that one may have brought is not treated as public until its
 * end is known.
 *
 * ```
 *   none ── begin ──► under way ── end ──► none
 *                         │
 *                  nobody saw its end
 *                         ▼
 *                       lost ── a list has its image, or two in a row have none ──► none
 * ```
 *
 * In: pulls as they begin and end, and lists of all images. Out: whether an image may come from one. It
 * assumes that an agent may end at any point, and that a runtime may continue a pull whose caller is gone. So
 * the beginning of a pull is on disk before the runtime is called. An image with the name of a lost pull some
 * minutes later counts as pulled in an unknown way.
 *
 * Another runtime may use the same files for a while: a pull is settled in the runtime in which it has begun.
 *
 * @module
 */
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { Absences } from '#base/async/absences.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type Mutex } from '#base/async/mutex.js';
import { fullNameOf } from '#kube/container/image-name.js';
import {
  type KeptBeginning,
  keyOf,
  type PullRecordFiles,
  withoutRuntime,
  withRuntime,
} from './pull-record-files.js';

/** Options of {@link PullBeginnings}. */
export interface PullBeginningsOptions {
  readonly files: Pick<PullRecordFiles, 'writeBegun' | 'removeBegun'>;
  /** Serializes changes of the files. */
  readonly changes: Mutex;
  /** What earlier agents have left. */
  readonly kept: ReadonlyMap<string, KeptBeginning>;
  /** The present runtime. */
  readonly runtime: string;
  /**
   * Records an image as pulled in an unknown way, unless more is known. Resolves with whether that is on
   * disk.
   */
  readonly keepUnknown: (image: RuntimeImage) => Promise<boolean>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
}

/** A pull with a login that has begun. */
export interface BegunPull {
  readonly image: string;
}

interface Begun {
  readonly name: string;
  /** How many are under way. */
  readonly pulls: number;
  /** Since when one is lost, in monotonic time. */
  readonly lostAtMs: number | undefined;
  /** Other runtimes in which one has begun: its end is not visible here. */
  readonly elsewhere: readonly string[];
}

/** A runtime cancels a pull whose caller is gone; this is longer than that takes. */
const LOST_PULL_MS = 2 * 60_000;
const NOT_BEGUN: Begun = { name: '', pulls: 0, lostAtMs: undefined, elsewhere: [] };
/** Stands for a pull with an unknown name. No image has this name. */
const ANY_NAME = '*';
const ANY_KEY = keyOf(ANY_NAME);

/** See the module. */
export class PullBeginnings {
  readonly #options: PullBeginningsOptions;
  /** By the key of the full name. */
  readonly #begun = new Map<string, Begun>();
  /** Their state on disk. */
  readonly #kept: Map<string, KeptBeginning>;
  readonly #missed = new Absences();

  constructor(options: PullBeginningsOptions) {
    const { kept, runtime, clock } = options;
    this.#options = options;
    this.#kept = new Map(kept);
    for (const [key, { name, runtimes }] of kept) {
      const lostAtMs = runtimes.includes(runtime) ? clock.monotonicMs() : undefined;
      this.#begun.set(key, { name, pulls: 0, lostAtMs, elsewhere: withoutRuntime(runtimes, runtime) });
    }
  }

  /** How many are on disk. */
  get keptCount(): number {
    return this.#kept.size;
  }

  /** Whether an image that a pod requests by that name may come from one. */
  mayHaveBrought(image: RuntimeImage, asked: string): boolean {
    if (this.#begun.size === 0) return false;
    return [ANY_KEY, keyOfName(asked), ...keysOf(image)].some((key) => this.#begun.has(key));
  }

  /**
   * A pull with a login is about to begin; `present` is the image that has the name now.
   *
   * Resolves when that is on disk. Rejects if it cannot be written, and then the pull must not begin.
   */
  async begin(image: string, present: RuntimeImage | undefined): Promise<BegunPull> {
    const key = keyOfName(image);
    const { pulls, lostAtMs } = this.#begun.get(key) ?? NOT_BEGUN;
    this.#change(key, { name: image, pulls: pulls + 1 });
    try {
      // The name may soon mean another image, and its present image may come from a lost pull.
      if (lostAtMs !== undefined && present !== undefined && !(await this.#options.keepUnknown(present))) {
        throw new Error('the image that has its name now cannot be recorded on the disk');
      }
      await this.#keep(key);
    } catch (error) {
      this.#change(key, { pulls: (this.#begun.get(key)?.pulls ?? 1) - 1 });
      await this.#dropIfOver(key);
      const what = `Failed to record image pull intent for container image "${image}"`;
      throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
    }
    return { image };
  }

  /**
   * The pull ended; `isLost`: the runtime may have pulled the image, or may still do so, without a report.
   *
   * Only a list of all images settles that: the end of another pull of the same name says nothing about it.
   */
  async end({ image }: BegunPull, isLost: boolean): Promise<void> {
    const key = keyOfName(image);
    const { pulls, lostAtMs } = this.#begun.get(key) ?? { ...NOT_BEGUN, pulls: 1 };
    const nowMs = this.#options.clock.monotonicMs();
    this.#change(key, { pulls: pulls - 1, lostAtMs: isLost ? nowMs : lostAtMs });
    await this.#dropIfOver(key);
  }

  /**
   * Others have begun pulls of these names, and their ends are unknown; `isAny`: unknown names as well.
   *
   * Resolves with whether that is on disk; takes effect in any case.
   */
  async takeOver(names: readonly string[], isAny: boolean): Promise<boolean> {
    const { clock, logger } = this.#options;
    let isKept = true;
    for (const name of isAny ? [...names, ANY_NAME] : names) {
      const key = keyOfName(name);
      this.#change(key, { name, lostAtMs: clock.monotonicMs() });
      try {
        await this.#keep(key);
      } catch (error) {
        logger.error('The beginning of a pull cannot be recorded on the disk', error, { image: name });
        isKept = false;
      }
    }
    return isKept;
  }

  /**
   * Settles lost pulls by a list of all images that began at that monotonic time. Never rejects.
   *
   * Pulls that were lost long enough before have ended by then, and images with their names may come from
   * them.
   */
  async settleLost(images: readonly RuntimeImage[], sinceMs: number): Promise<void> {
    const { keepUnknown } = this.#options;
    for (const [key, { pulls, lostAtMs }] of [...this.#begun]) {
      if (pulls > 0 || lostAtMs === undefined || sinceMs - lostAtMs < LOST_PULL_MS) continue;
      let isKept = true;
      const its = key === ANY_KEY ? images : images.filter((image) => keysOf(image).includes(key));
      for (const image of its) if (!(await keepUnknown(image))) isKept = false;
      // A name means one image, so a match is all there is to find.
      const isFound = key !== ANY_KEY && its.length > 0;
      if (!isFound && !this.#missed.missed(key, sinceMs)) continue;
      const now = this.#begun.get(key);
      if (!isKept || now === undefined || now.pulls > 0 || now.lostAtMs !== lostAtMs) continue;
      this.#change(key, { lostAtMs: undefined });
      await this.#dropIfOver(key);
    }
  }

  #change(key: string, change: Partial<Begun>): void {
    this.#begun.set(key, { ...(this.#begun.get(key) ?? NOT_BEGUN), ...change });
    this.#missed.saw(key);
  }

  /** Never rejects: a remaining file only asks for a login where none is needed. */
  async #dropIfOver(key: string): Promise<void> {
    const { pulls, lostAtMs } = this.#begun.get(key) ?? { ...NOT_BEGUN, pulls: 1 };
    if (pulls > 0 || lostAtMs !== undefined) return;
    await this.#keep(key).catch((error: unknown) => {
      this.#options.logger.error('The end of a pull cannot be recorded on the disk', error, { key });
    });
  }

  /** Writes where pulls of that name have begun, and forgets the name if there are none. */
  async #keep(key: string): Promise<void> {
    const { files, changes, runtime } = this.#options;
    await changes.run(async () => {
      const { name, pulls, lostAtMs, elsewhere } = this.#begun.get(key) ?? NOT_BEGUN;
      const isHere = pulls > 0 || lostAtMs !== undefined;
      const runtimes = isHere ? withRuntime(elsewhere, runtime) : elsewhere;
      if (runtimes.length === 0) {
        this.#begun.delete(key);
        this.#missed.saw(key);
        this.#kept.delete(key);
        await files.removeBegun(key);
        return;
      }
      const kept = this.#kept.get(key)?.runtimes;
      if (kept?.length === runtimes.length && runtimes.every((each) => kept.includes(each))) return;
      const beginning = { name, runtimes };
      await files.writeBegun(key, beginning);
      this.#kept.set(key, beginning);
    });
  }
}

function keyOfName(image: string): string {
  return keyOf(fullNameOf(image) ?? image);
}

/** The keys of all names of an image. */
function keysOf({ tags, digests }: RuntimeImage): string[] {
  return [...tags, ...digests].map(keyOfName);
}
