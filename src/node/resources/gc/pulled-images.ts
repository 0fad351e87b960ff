import { Absences } from '#base/async/absences.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { RecordFile } from '#base/fs/record-file.js';

/** An image that this agent pulled. Times in milliseconds since the epoch. */
export interface PulledImage {
  readonly id: string;
  readonly pulledAtMs: number;
  /** When it was last seen in use; undefined when it never was. */
  readonly lastUsedAtMs?: number;
}

/** One list of all images. By id, except `known`. */
export interface ImagesSeen {
  /** What was on record when the list began: the list says nothing about later ones. */
  readonly known: readonly PulledImage[];
  readonly present: ReadonlySet<string>;
  readonly inUse: ReadonlySet<string>;
  readonly nowMs: number;
}

type Images = ReadonlyMap<string, PulledImage>;
type MonotonicClock = Pick<Clock, 'monotonicMs'>;

/**
 * The images that this agent pulled: no other is ever removed.
 *
 * The record is one file, written as a whole, and on disk before a change takes effect. An image that was
 * pulled but not recorded, because of a crash in between, stays.
 *
 * A runtime may show less than it has, above all when it has just started, and forgetting is final. So an
 * image that a list lacks is set aside at first. It is forgotten when two lists in a row, some minutes apart,
 * lack it, and comes back when the second has it.
 */
export class PulledImages {
  readonly #file: RecordFile<Images>;
  readonly #clock: MonotonicClock;
  readonly #images: Map<string, PulledImage>;
  /** Images that the last list lacked. */
  readonly #aside = new Map<string, PulledImage>();
  readonly #missed = new Absences();

  private constructor(file: RecordFile<Images>, clock: MonotonicClock, images: Images) {
    this.#file = file;
    this.#clock = clock;
    this.#images = new Map(images);
  }

  /** Reads the file. An invalid one counts as empty: then nothing is removed. */
  static async open(path: string, clock: MonotonicClock = new SystemClock()): Promise<PulledImages> {
    const file = new RecordFile<Images>({
      ...{ path, parse, format: (images) => ({ images: [...images.values()] }) },
    });
    return new PulledImages(file, clock, (await file.read(() => undefined)) ?? new Map());
  }

  /** Without those that the last list lacked. */
  all(): readonly PulledImage[] {
    return [...this.#images.values()];
  }

  /** Like {@link all}. */
  has(id: string): boolean {
    return this.#images.has(id);
  }

  /** It was pulled, and did not exist before. */
  async add(id: string, pulledAtMs: number): Promise<void> {
    this.#drop(id);
    this.#images.set(id, { id, pulledAtMs });
    await this.#save();
  }

  /** It was removed, at that time or later. Does nothing if it was pulled since. */
  async forget(id: string, sinceMs: number): Promise<void> {
    const image = this.#images.get(id) ?? this.#aside.get(id);
    if (image === undefined || image.pulledAtMs >= sinceMs) return;
    this.#drop(id);
    await this.#save();
  }

  /** Applies a list: which images are in use now, and which exist at all. An empty list is ignored. */
  async observe({ known, present, inUse, nowMs }: ImagesSeen): Promise<void> {
    if (present.size === 0) return;
    const back = [...this.#aside.values()].filter(({ id }) => present.has(id));
    for (const image of back) {
      this.#drop(image.id);
      this.#images.set(image.id, image);
    }
    let isWorthSaving = false;
    for (const image of [...known, ...back]) {
      // It was pulled again since, or another list has changed it.
      if (this.#images.get(image.id) !== image) continue;
      if (!present.has(image.id)) {
        this.#images.delete(image.id);
        this.#aside.set(image.id, image);
      } else if (inUse.has(image.id)) {
        // The exact time matters once it is unused; a minute is near enough.
        isWorthSaving ||= nowMs - (image.lastUsedAtMs ?? -Infinity) > 60_000;
        this.#images.set(image.id, { ...image, lastUsedAtMs: nowMs });
      }
    }
    if (this.#forgetGone()) isWorthSaving = true;
    if (isWorthSaving) await this.#save();
  }

  /** Forgets images that were set aside. Returns whether there were any. */
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
    await this.#file.write(new Map([...this.#images, ...this.#aside]));
  }
}

function parse({ images }: Readonly<Record<string, unknown>>): Images {
  const list = Array.isArray(images) ? (images as (Partial<PulledImage> | null)[]) : [];
  return new Map(
    list.flatMap((image) => {
      const { id, pulledAtMs, lastUsedAtMs } = image ?? {};
      if (typeof id !== 'string' || typeof pulledAtMs !== 'number') return [];
      return [[id, { id, pulledAtMs, ...(typeof lastUsedAtMs === 'number' ? { lastUsedAtMs } : {}) }]];
    }),
  );
}
