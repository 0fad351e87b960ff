import { type Clock } from '#base/time/clock.js';

/** What {@link FolderSizes} needs. */
export interface FolderSizesOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** Measures a folder, in bytes or in files; may take long. */
  readonly measureFolder: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** How long a result stays valid. */
  readonly goodForMs: number;
  /** How many are measured at a time (default: 1). */
  readonly atOnce?: number;
  /** Aborts measurements under way. */
  readonly signal: AbortSignal;
}

/** The known size of a folder. */
export interface FolderSize {
  /** When `size` was measured, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Undefined when it could never be measured. */
  readonly size: number | undefined;
}

interface Tried extends FolderSize {
  /** When the last measurement was tried, monotonic. */
  readonly triedAtMs: number;
}

/** Limit of waiting folders; more than any node has. */
const MAX_WAITING = 10_000;

/**
 * The sizes of folders, measured in the background, as that may take minutes.
 *
 * If a new measurement fails, the old size stays, with its time.
 */
export class FolderSizes {
  readonly #options: FolderSizesOptions;
  readonly #known = new Map<string, Tried>();
  /** In the order of the requests. */
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<string>();
  readonly #workers = new Set<Promise<void>>();

  constructor(options: FolderSizesOptions) {
    this.#options = options;
  }

  /** The last size; requests a new measurement when that is due. Undefined before the first try. */
  find(path: string): FolderSize | undefined {
    const { clock, goodForMs, atOnce = 1, signal } = this.#options;
    const known = this.#known.get(path);
    const isDue = known === undefined || clock.monotonicMs() - known.triedAtMs >= goodForMs;
    if (isDue && this.#waiting.size < MAX_WAITING && !signal.aborted && !this.#underWay.has(path)) {
      this.#waiting.add(path);
      if (this.#workers.size < atOnce) this.#startWorker();
    }
    return known;
  }

  /** Forgets the others. */
  keepOnly(isWanted: (path: string) => boolean): void {
    for (const path of this.#known.keys()) if (!isWanted(path)) this.#known.delete(path);
  }

  /** Resolves when nothing is left to measure. */
  async settled(): Promise<void> {
    while (this.#workers.size > 0) await Promise.all(this.#workers);
  }

  #startWorker(): void {
    const worker = this.#work().finally(() => {
      this.#workers.delete(worker);
      // Requested while the run was about to end.
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
