import { type Clock } from '#base/time/clock.js';
import { measureFolder, NO_USAGE, type FolderUsage } from './folder-usage.js';

/** What a folder took at some time. */
export interface MeasuredUsage extends FolderUsage {
  /** Milliseconds since the epoch. */
  readonly measuredAtMs: number;
  /** The folder; empty where there is none. */
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

  /** What the folder takes, now or some seconds ago. Without a folder: nothing. */
  measure(key: string, folder: string | undefined): Promise<MeasuredUsage> {
    if (folder === undefined)
      return Promise.resolve({ ...NO_USAGE, measuredAtMs: this.#clock.now(), path: '' });
    const known = this.#measurements.get(key);
    if (known !== undefined && !(this.#clock.monotonicMs() >= (known.staleAtMs ?? Infinity)))
      return known.result;
    const measurement: Measurement = { result: this.#measure(key, folder), staleAtMs: undefined };
    this.#measurements.set(key, measurement);
    return measurement.result;
  }

  /** To be called when the folder is gone for good. */
  forget(key: string): void {
    this.#measurements.delete(key);
  }

  async #measure(key: string, folder: string): Promise<MeasuredUsage> {
    const begun = this.#clock.monotonicMs();
    const measuredAtMs = this.#clock.now();
    try {
      return { ...(await measureFolder(folder)), measuredAtMs, path: folder };
    } finally {
      const ended = this.#clock.monotonicMs();
      const measurement = this.#measurements.get(key);
      if (measurement !== undefined)
        measurement.staleAtMs = ended + Math.max(GOOD_FOR_MS, GOOD_FOR_TIMES * (ended - begun));
    }
  }
}
