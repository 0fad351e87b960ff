import { type Clock } from '../../util/clock.js';

/** How often something happened in a row, and since when. */
export interface Repeat {
  readonly count: number;
  /** Wall-clock milliseconds. */
  readonly firstAtMs: number;
}

interface Run {
  count: number;
  readonly firstAtMs: number;
  /** Monotonic. */
  lastMs: number;
  toldMs: number;
}

const TELL_AGAIN_MS = 60_000;
/** What has not happened for so long begins anew. */
const FORGET_MS = 10 * 60_000;
const MOST_RUNS = 1_000;

/**
 * Keeps what happens again and again from filling a history: it is told the first time, and from then on once a minute
 * with its count.
 */
export class Repeats {
  readonly #clock: Clock;
  /** By what it is, the one that happened last at the end. */
  readonly #runs = new Map<string, Run>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It happened once more. Undefined: it need not be told now. */
  note(key: string): Repeat | undefined {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#runs.get(key);
    this.#runs.delete(key);
    const run =
      known === undefined || nowMs - known.lastMs > FORGET_MS
        ? { count: 0, firstAtMs: this.#clock.now(), lastMs: nowMs, toldMs: -Infinity }
        : known;
    run.count++;
    run.lastMs = nowMs;
    this.#runs.set(key, run);
    if (this.#runs.size > MOST_RUNS) this.#runs.delete(this.#runs.keys().next().value!);
    if (nowMs - run.toldMs < TELL_AGAIN_MS) return undefined;
    run.toldMs = nowMs;
    return { count: run.count, firstAtMs: run.firstAtMs };
  }

  /** It is over: the next time is news. */
  end(key: string): void {
    this.#runs.delete(key);
  }
}
