import { type Clock } from '#base/time/clock.js';

/** Options of {@link PullBackoff}. */
export interface PullBackoffOptions {
  readonly clock: Clock;
  /** The delay after the first failure (default: 10 s). */
  readonly initialMs?: number;
  /** The longest delay (default: 5 min). */
  readonly maxMs?: number;
}

interface Failure {
  readonly atMs: number;
  readonly delayMs: number;
  readonly why: string;
}

/** A pull that may not be retried yet. */
export interface PullDelay {
  /** Always above 0. */
  readonly remainingMs: number;
  /** The error of the last try. */
  readonly why: string;
}

/** Delays between retries, by key, doubling from failure to failure. */
export class PullBackoff {
  readonly #clock: Clock;
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #failures = new Map<string, Failure>();

  constructor(options: PullBackoffOptions) {
    this.#clock = options.clock;
    this.#initialMs = options.initialMs ?? 10_000;
    this.#maxMs = options.maxMs ?? 300_000;
  }

  /** Undefined when a retry is allowed now. */
  find(key: string): PullDelay | undefined {
    const failure = this.#failures.get(key);
    if (failure === undefined) return undefined;
    const remainingMs = failure.atMs + failure.delayMs - this.#clock.monotonicMs();
    return remainingMs > 0 ? { remainingMs, why: failure.why } : undefined;
  }

  fail(key: string, why: string): void {
    this.#forgetOld();
    const before = this.#failures.get(key);
    const delayMs = before === undefined ? this.#initialMs : Math.min(this.#maxMs, 2 * before.delayMs);
    this.#failures.set(key, { atMs: this.#clock.monotonicMs(), delayMs, why });
  }

  succeed(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * A key without a try for twice the longest delay starts over, as in the kubelet; that also limits the
   * memory.
   */
  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { atMs }] of this.#failures) {
      if (nowMs - atMs > 2 * this.#maxMs) this.#failures.delete(key);
    }
  }
}
