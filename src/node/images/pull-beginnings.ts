/**
 * Pulls with a login that have begun: what one may have brought is known not to be from elsewhere, until it is known how it ended.
 *
 * ```
 *   none ── begin ──► under way ── end ──► none
 *                         │
 *                  nobody saw its end
 *                         ▼
 *                       lost ── a look finds its image, or two in a row find none ──► none
 * ```
 *
 * In: pulls as they begin and end, and looks at all images. Out: whether an image may be of one. It assumes that an agent may end
 * at any point, and that a runtime may go on with a pull of which nobody hears any more. What covers it: that a pull begins is on
 * the disk before the runtime is asked, and what has the name of a lost one some minutes later counts as pulled in a way that
 * nobody knows.
 *
 * Another runtime may stand behind the same files for a while: a pull is settled in the one in which it has begun.
 *
 * @module
 */
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { Absences } from '#base/async/absences.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type Mutex } from '#base/async/mutex.js';
import { fullNameOf } from './image-name.js';
import {
  type KeptBeginning,
  keyOf,
  type PullRecordFiles,
  withoutRuntime,
  withRuntime,
} from './pull-record-files.js';

/** What {@link PullBeginnings} are made with. */
export interface PullBeginningsOptions {
  readonly files: Pick<PullRecordFiles, 'writeBegun' | 'removeBegun'>;
  /** Of the files. */
  readonly changes: Mutex;
  /** What earlier agents have left. */
  readonly kept: ReadonlyMap<string, KeptBeginning>;
  /** Which runtime pulls now. */
  readonly runtime: string;
  /** Keeps that nobody knows how an image was pulled, unless more is known. Resolves with whether that is on the disk. */
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
  /** Since when there is one of which nobody will see the end, by monotonic time. */
  readonly lostAtMs: number | undefined;
  /** Other runtimes in which one has begun: here nobody can see what became of it. */
  readonly elsewhere: readonly string[];
}

/** A runtime ends a pull whose caller is gone; that is more than it takes for it. */
const LOST_PULL_MS = 2 * 60_000;
const NOT_BEGUN: Begun = { name: '', pulls: 0, lostAtMs: undefined, elsewhere: [] };
/** Stands for a pull of which nobody knows the name. It is none of an image. */
const ANY_NAME = '*';
const ANY_KEY = keyOf(ANY_NAME);

/** See the module. */
export class PullBeginnings {
  readonly #options: PullBeginningsOptions;
  /** By the key of the full name. */
  readonly #begun = new Map<string, Begun>();
  /** What the disk has of them. */
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

  /** How many are on the disk. */
  get keptCount(): number {
    return this.#kept.size;
  }

  /** Whether an image that a pod asks for by that name may be of one. */
  mayHaveBrought(image: RuntimeImage, asked: string): boolean {
    if (this.#begun.size === 0) return false;
    return [ANY_KEY, keyOfName(asked), ...keysOf(image)].some((key) => this.#begun.has(key));
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
      if (lostAtMs !== undefined && present !== undefined && !(await this.#options.keepUnknown(present))) {
        throw new Error('what has its name now cannot be kept on the disk');
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
   * It ended; `isLost`: the runtime may have fetched the image, or may do so yet, and nobody will say so. That is settled by a
   * look at all images alone: how another pull of the same name ends says nothing of it.
   */
  async end({ image }: BegunPull, isLost: boolean): Promise<void> {
    const key = keyOfName(image);
    const { pulls, lostAtMs } = this.#begun.get(key) ?? { ...NOT_BEGUN, pulls: 1 };
    const nowMs = this.#options.clock.monotonicMs();
    this.#change(key, { pulls: pulls - 1, lostAtMs: isLost ? nowMs : lostAtMs });
    await this.#dropIfOver(key);
  }

  /**
   * Others have begun pulls by these names, and nobody sees their end; `isAny`: by names, too, that nobody knows. Resolves with
   * whether that is on the disk; holds in any case.
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
        logger.error('That a pull had begun cannot be kept on the disk', error, { image: name });
        isKept = false;
      }
    }
    return isKept;
  }

  /**
   * All images that there are, in a look that began at that monotonic time. Pulls that were lost a while before have ended by then,
   * and what has their name may be of them. Never rejects.
   */
  async settleLost(images: readonly RuntimeImage[], sinceMs: number): Promise<void> {
    const { keepUnknown } = this.#options;
    for (const [key, { pulls, lostAtMs }] of [...this.#begun]) {
      if (pulls > 0 || lostAtMs === undefined || sinceMs - lostAtMs < LOST_PULL_MS) continue;
      let isKept = true;
      const its = key === ANY_KEY ? images : images.filter((image) => keysOf(image).includes(key));
      for (const image of its) if (!(await keepUnknown(image))) isKept = false;
      // A name means one image, so that one which is found is all that there is to find.
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

  /** Never rejects: where it stays on the disk, it asks for a login where none is needed. */
  async #dropIfOver(key: string): Promise<void> {
    const { pulls, lostAtMs } = this.#begun.get(key) ?? { ...NOT_BEGUN, pulls: 1 };
    if (pulls > 0 || lostAtMs !== undefined) return;
    await this.#keep(key).catch((error: unknown) => {
      this.#options.logger.error('That a pull is over cannot be kept on the disk', error, { key });
    });
  }

  /** Brings to the disk where pulls of that name have begun, and forgets the name where there are none. */
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

/** Of all the names that it has. */
function keysOf({ tags, digests }: RuntimeImage): string[] {
  return [...tags, ...digests].map(keyOfName);
}
