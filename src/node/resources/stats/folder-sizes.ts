import { type Clock } from '#base/time/clock.js';

/** What {@link FolderSizes} needs. */
export interface FolderSizesOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** How large a folder is, in bytes or in files; may take long. */
  readonly measureFolder: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** For so long what was counted is good. */
  readonly goodForMs: number;
  /** So many are counted at a time (default: 1). */
  readonly atOnce?: number;
  /** Ends what is being counted. */
  readonly signal: AbortSignal;
}

/** What is known of a folder. */
export interface FolderSize {
  /** When `size` was counted, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Undefined when it could never be counted. */
  readonly size: number | undefined;
}

interface Tried extends FolderSize {
  /** When it was last tried to count, monotonic. */
  readonly triedAtMs: number;
}

/** Folders that wait to be counted; more than any node has. */
const MOST_WAITING = 10_000;

/**
 * How large folders are. Counting may take minutes: it goes on in the background, while nobody has to wait for it. When
 * one cannot be counted again, what was known stays, with its time.
 */
export class FolderSizes {
  readonly #options: FolderSizesOptions;
  readonly #known = new Map<string, Tried>();
  /** In the order in which they were asked for. */
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<string>();
  readonly #workers = new Set<Promise<void>>();

  constructor(options: FolderSizesOptions) {
    this.#options = options;
  }

  /** As it was counted last; asks for it when it is due to be counted again. Undefined before that was tried. */
  find(path: string): FolderSize | undefined {
    const { clock, goodForMs, atOnce = 1, signal } = this.#options;
    const known = this.#known.get(path);
    const isDue = known === undefined || clock.monotonicMs() - known.triedAtMs >= goodForMs;
    if (isDue && this.#waiting.size < MOST_WAITING && !signal.aborted && !this.#underWay.has(path)) {
      this.#waiting.add(path);
      if (this.#workers.size < atOnce) this.#startWorker();
    }
    return known;
  }

  /** Forgets the others. */
  keepOnly(isWanted: (path: string) => boolean): void {
    for (const path of this.#known.keys()) if (!isWanted(path)) this.#known.delete(path);
  }

  /** Resolves when nothing is left to be counted. */
  async settled(): Promise<void> {
    while (this.#workers.size > 0) await Promise.all(this.#workers);
  }

  #startWorker(): void {
    const worker = this.#work().finally(() => {
      this.#workers.delete(worker);
      // Asked for while it was about to end.
      if (this.#waiting.size > 0 && !this.#options.signal.aborted) this.#startWorker();
    });
    this.#workers.add(worker);
  }

  async #work(): Promise<void> {
    for (const path of this.#waiting) {
      if (this.#options.signal.aborted) return;
      this.#waiting.delete(path);
      this.#underWay.add(path);
      await this.#count(path);
      this.#underWay.delete(path);
    }
  }

  async #count(path: string): Promise<void> {
    const { clock, measureFolder, signal } = this.#options;
    const size = await measureFolder(path, signal).then(Number, () => undefined);
    const known = size === undefined ? this.#known.get(path) : undefined;
    const { atMs } = known ?? { atMs: clock.now() };
    this.#known.set(path, {
      ...{ atMs, size: size ?? known?.size },
      triedAtMs: clock.monotonicMs(),
    });
  }
}
