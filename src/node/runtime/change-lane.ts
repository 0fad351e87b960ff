import { type Clock } from '#base/time/clock.js';

/** Options of {@link ChangeLane}. */
export interface ChangeLaneOptions {
  readonly clock: Clock;
  /** How many may be inside at once; read each time. */
  readonly limit: () => number;
  /** Work that takes longer continues outside and frees its slot, in milliseconds. */
  readonly leaveAfterMs: number;
  /** How many may continue outside; others stay inside. */
  readonly mostOutside: number;
}

/** The present work of a {@link ChangeLane}. */
export interface LaneFacts {
  readonly limit: number;
  readonly waiting: number;
  /** Under way with a slot. */
  readonly inside: number;
  /** Under way for so long that their slots went to others. */
  readonly outside: number;
}

interface Waiter {
  readonly rank: number;
  readonly admit: () => void;
}

/**
 * Slots for calls that may hang: the lowest rank first, then first come, first served.
 *
 * A call that takes too long frees its slot without being cancelled. So a few pods whose calls hang slow the
 * others down only for a moment.
 */
export class ChangeLane {
  readonly #options: ChangeLaneOptions;
  #waiters: Waiter[] = [];
  #inside = 0;
  #outside = 0;

  constructor(options: ChangeLaneOptions) {
    this.#options = options;
  }

  get facts(): LaneFacts {
    const limit = this.#options.limit();
    return { limit, waiting: this.#waiters.length, inside: this.#inside, outside: this.#outside };
  }

  /**
   * Runs `work` once there is a slot, and settles as it does. The signal only ends the wait for the slot.
   *
   * This then rejects with the signal's reason, and `work` is never called.
   */
  async run<T>(
    work: (underWay: number) => Promise<T>,
    signal: AbortSignal | undefined,
    rank = 0,
  ): Promise<T> {
    await this.#enter(signal, rank);
    const place = { isOutside: false };
    const timer = this.#options.clock.setTimer(
      this.#options.leaveAfterMs,
      () => {
        if (this.#outside >= this.#options.mostOutside) return;
        place.isOutside = true;
        this.#inside--;
        this.#outside++;
        this.#admit();
      },
      { unref: true },
    );
    try {
      return await work(this.#inside);
    } finally {
      timer.cancel();
      if (place.isOutside) this.#outside--;
      else this.#inside--;
      this.#admit();
    }
  }

  async #enter(signal: AbortSignal | undefined, rank: number): Promise<void> {
    signal?.throwIfAborted();
    if (this.#waiters.length === 0 && this.#inside < this.#options.limit()) {
      this.#inside++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal?.reason as Error);
      };
      const waiter = {
        rank,
        admit: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const index = this.#waiters.findIndex((other) => other.rank > rank);
      this.#waiters.splice(index < 0 ? this.#waiters.length : index, 0, waiter);
    });
  }

  #admit(): void {
    while (this.#inside < this.#options.limit()) {
      const next = this.#waiters.shift();
      if (next === undefined) return;
      this.#inside++;
      next.admit();
    }
  }
}
