import { Mutex } from '../util/mutex.js';
import { readIfThere, writeWhole } from '../util/whole-file.js';

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

/**
 * Which images this agent fetched: no other is ever removed. Kept in one file, written whole, and on the disk before a
 * change is done. An image that is fetched and not on record, after a crash in between, stays.
 */
export class PulledImages {
  readonly #path: string;
  readonly #images: Map<string, PulledImage>;
  /** The write under way, and with it the order of writes. */
  readonly #writes = new Mutex();

  private constructor(path: string, images: Map<string, PulledImage>) {
    this.#path = path;
    this.#images = images;
  }

  /** Reads the file. One that cannot be read as a record counts as none: then nothing is removed. */
  static async open(path: string): Promise<PulledImages> {
    return new PulledImages(path, parse((await readIfThere(path)) ?? '{}'));
  }

  all(): readonly PulledImage[] {
    return [...this.#images.values()];
  }

  has(id: string): boolean {
    return this.#images.has(id);
  }

  /** It was fetched, and was not there before. */
  async add(id: string, pulledAtMs: number): Promise<void> {
    this.#images.set(id, { id, pulledAtMs });
    await this.#save();
  }

  /** Takes in what a look has shown: which are in use now, and which are there at all. The others are forgotten. */
  async observe({ known, present, inUse, nowMs }: ImagesSeen): Promise<void> {
    let isWorthSaving = false;
    for (const image of known) {
      // It was fetched again since, or another look has seen to it.
      if (this.#images.get(image.id) !== image) continue;
      if (!present.has(image.id)) isWorthSaving = this.#images.delete(image.id);
      else if (inUse.has(image.id)) {
        // The exact time matters once it is no longer in use; a minute is near enough.
        isWorthSaving ||= nowMs - (image.lastUsedAtMs ?? -Infinity) > 60_000;
        this.#images.set(image.id, { ...image, lastUsedAtMs: nowMs });
      }
    }
    if (isWorthSaving) await this.#save();
  }

  async #save(): Promise<void> {
    const write = async (): Promise<void> => {
      await writeWhole(this.#path, `${JSON.stringify({ images: this.all() })}\n`);
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
