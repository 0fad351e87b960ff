import { Absences } from '#base/async/absences.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { Mutex } from '#base/async/mutex.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** An image that this agent fetched. Times in milliseconds since the epoch. */
export interface PulledImage {
  readonly id: string;
  readonly pulledAtMs: number;
  /** When it was last seen in use; undefined when it never was. */
  readonly lastUsedAtMs?: number;
}

/** One look at all images. By id, but for `known`. */
export interface ImagesSeen {
  /** What was on record when the look began: it says nothing of what comes meanwhile. */
  readonly known: readonly PulledImage[];
  readonly present: ReadonlySet<string>;
  readonly inUse: ReadonlySet<string>;
  readonly nowMs: number;
}

type MonotonicClock = Pick<Clock, 'monotonicMs'>;

/**
 * Which images this agent fetched: no other is ever removed. Kept in one file, written whole, and on the disk before a
 * change is done. An image that is fetched and not on record, after a crash in between, stays.
 *
 * A runtime may show less than it has, most of all when it has just come up, and what is forgotten stays for good. So
 * an image that a look misses counts as none of ours only for the time being: it is forgotten when two looks in a row
 * have missed it, some minutes apart, and is ours again when the second shows it.
 */
export class PulledImages {
  readonly #path: string;
  readonly #clock: MonotonicClock;
  readonly #images: Map<string, PulledImage>;
  /** Those that the last look has missed. */
  readonly #aside = new Map<string, PulledImage>();
  readonly #missed = new Absences();
  /** The write under way, and with it the order of writes. */
  readonly #writes = new Mutex();

  private constructor(path: string, clock: MonotonicClock, images: Map<string, PulledImage>) {
    this.#path = path;
    this.#clock = clock;
    this.#images = images;
  }

  /** Reads the file. One that cannot be read as a record counts as none: then nothing is removed. */
  static async open(path: string, clock: MonotonicClock = new SystemClock()): Promise<PulledImages> {
    return new PulledImages(path, clock, parse((await readIfThere(path)) ?? '{}'));
  }

  /** But for those that the last look has missed. */
  all(): readonly PulledImage[] {
    return [...this.#images.values()];
  }

  /** As {@link all}. */
  has(id: string): boolean {
    return this.#images.has(id);
  }

  /** It was fetched, and was not there before. */
  async add(id: string, pulledAtMs: number): Promise<void> {
    this.#drop(id);
    this.#images.set(id, { id, pulledAtMs });
    await this.#save();
  }

  /** It was removed, at that time or later. Does nothing where it was fetched since. */
  async forget(id: string, sinceMs: number): Promise<void> {
    const image = this.#images.get(id) ?? this.#aside.get(id);
    if (image === undefined || image.pulledAtMs >= sinceMs) return;
    this.#drop(id);
    await this.#save();
  }

  /**
   * Takes in what a look has shown: which are in use now, and which are there at all. A look that shows nothing at all
   * says nothing.
   */
  async observe({ known, present, inUse, nowMs }: ImagesSeen): Promise<void> {
    if (present.size === 0) return;
    const back = [...this.#aside.values()].filter(({ id }) => present.has(id));
    for (const image of back) {
      this.#drop(image.id);
      this.#images.set(image.id, image);
    }
    let isWorthSaving = false;
    for (const image of [...known, ...back]) {
      // It was fetched again since, or another look has seen to it.
      if (this.#images.get(image.id) !== image) continue;
      if (!present.has(image.id)) {
        this.#images.delete(image.id);
        this.#aside.set(image.id, image);
      } else if (inUse.has(image.id)) {
        // The exact time matters once it is no longer in use; a minute is near enough.
        isWorthSaving ||= nowMs - (image.lastUsedAtMs ?? -Infinity) > 60_000;
        this.#images.set(image.id, { ...image, lastUsedAtMs: nowMs });
      }
    }
    if (this.#forgetGone()) isWorthSaving = true;
    if (isWorthSaving) await this.#save();
  }

  /** Of those that are set aside. Returns whether there were any. */
  #forgetGone(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const gone = [...this.#aside.keys()].filter((id) => this.#missed.missed(id, nowMs));
    for (const id of gone) this.#drop(id);
    return gone.length > 0;
  }

  #drop(id: string): void {
    this.#images.delete(id);
    this.#aside.delete(id);
    this.#missed.saw(id);
  }

  async #save(): Promise<void> {
    const write = async (): Promise<void> => {
      const images = [...this.#images.values(), ...this.#aside.values()];
      await writeWhole(this.#path, `${JSON.stringify({ images })}\n`);
    };
    await this.#writes.run(write);
  }
}

function parse(text: string): Map<string, PulledImage> {
  let images: unknown;
  try {
    ({ images } = JSON.parse(text) as { images?: unknown });
  } catch {
    return new Map();
  }
  const list = Array.isArray(images) ? (images as (Partial<PulledImage> | null)[]) : [];
  return new Map(
    list.flatMap((image) => {
      const { id, pulledAtMs, lastUsedAtMs } = image ?? {};
      if (typeof id !== 'string' || typeof pulledAtMs !== 'number') return [];
      return [[id, { id, pulledAtMs, ...(typeof lastUsedAtMs === 'number' ? { lastUsedAtMs } : {}) }]];
    }),
  );
}
