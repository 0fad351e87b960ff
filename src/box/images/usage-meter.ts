import { type Clock } from '#base/time/clock.js';
import { addUsage, measureFolder, NO_USAGE, type FolderUsage } from './folder-usage.js';

/** What some folders took together at some time. */
export interface MeasuredUsage extends FolderUsage {
  /** Milliseconds since the epoch. */
  readonly measuredAtMs: number;
  /** The first of the folders; empty where there is none. */
  readonly path: string;
}

interface Measurement {
  readonly result: Promise<MeasuredUsage>;
  /** From when on it is too old; undefined while it is under way. */
  staleAtMs: number | undefined;
}

/** How long a result is good, at least: agents ask every ten seconds and about everything at once. */
const GOOD_FOR_MS = 9_000;
/** A result is good for that many times as long as it took: so measuring never takes more than a twentieth of the time. */
const GOOD_FOR_TIMES = 20;

/** Measures folders, each at most once at a time and not all the time. */
export class UsageMeter {
  readonly #clock: Clock;
  readonly #measurements = new Map<string, Measurement>();

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** What the folders take, now or some seconds ago. Without a folder: nothing. */
  measure(key: string, folders: readonly string[]): Promise<MeasuredUsage> {
    if (folders.length === 0)
      return Promise.resolve({ ...NO_USAGE, measuredAtMs: this.#clock.now(), path: '' });
    const known = this.#measurements.get(key);
    if (known !== undefined && !(this.#clock.monotonicMs() >= (known.staleAtMs ?? Infinity)))
      return known.result;
    const measurement: Measurement = { result: this.#measure(key, folders), staleAtMs: undefined };
    this.#measurements.set(key, measurement);
    return measurement.result;
  }

  /** To be called when the folders are gone for good. */
  forget(key: string): void {
    this.#measurements.delete(key);
  }

  async #measure(key: string, folders: readonly string[]): Promise<MeasuredUsage> {
    const begun = this.#clock.monotonicMs();
    const measuredAtMs = this.#clock.now();
    try {
      const usages = await Promise.all(folders.map((folder) => measureFolder(folder)));
      return { ...usages.reduce(addUsage, NO_USAGE), measuredAtMs, path: folders[0] ?? '' };
    } finally {
      const ended = this.#clock.monotonicMs();
      const measurement = this.#measurements.get(key);
      if (measurement !== undefined)
        measurement.staleAtMs = ended + Math.max(GOOD_FOR_MS, GOOD_FOR_TIMES * (ended - begun));
    }
  }
}
