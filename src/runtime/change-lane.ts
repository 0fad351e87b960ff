import { type Clock } from '../util/clock.js';

/** What {@link ChangeLane} is made with. */
export interface ChangeLaneOptions {
  readonly clock: Clock;
  /** How many may be inside at once; asked anew each time. */
  readonly limit: () => number;
  /** What takes longer goes on outside and gives its slot to the next, in milliseconds. */
  readonly leaveAfterMs: number;
  /** How many may go on outside; the others stay inside. */
  readonly mostOutside: number;
}

/** What a {@link ChangeLane} is busy with. */
export interface LaneFacts {
  readonly limit: number;
  readonly waiting: number;
  /** Under way and holding a slot. */
  readonly inside: number;
  /** Under way for so long that their slots went to others. */
  readonly outside: number;
}

interface Waiter {
  readonly admit: () => void;
}

/**
 * Slots for calls that may hang: first come, first served, and whoever stays too long makes room without being given
 * up. So a few pods whose calls hang slow the others down for a moment and then no more.
 */
export class ChangeLane {
  readonly #options: ChangeLaneOptions;
  readonly #waiters = new Set<Waiter>();
  #inside = 0;
  #outside = 0;

  constructor(options: ChangeLaneOptions) {
    this.#options = options;
  }

  get facts(): LaneFacts {
    const limit = this.#options.limit();
    return { limit, waiting: this.#waiters.size, inside: this.#inside, outside: this.#outside };
  }

  /**
   * Runs `work` once there is a slot, and settles as it does. The signal only ends the wait for the slot: this rejects
   * with its reason, and `work` is never called.
   */
  async run<T>(work: (underWay: number) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    await this.#enter(signal);
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

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#waiters.size === 0 && this.#inside < this.#options.limit()) {
      this.#inside++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(signal?.reason as Error);
      };
      const waiter = {
        admit: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  #admit(): void {
    for (const waiter of this.#waiters) {
      if (this.#inside >= this.#options.limit()) return;
      this.#waiters.delete(waiter);
      this.#inside++;
      waiter.admit();
    }
  }
}
