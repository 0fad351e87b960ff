import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** Limits of {@link ProbeSlots}. */
export interface ProbeSlotsOptions {
  readonly clock: Clock;
  /** Probes in flight at once (default: 64). */
  readonly limit?: number;
  /** Slow probes that do not use one of these slots (default: 256). */
  readonly slowLimit?: number;
  /** After how many milliseconds a probe is slow (default: 1000). */
  readonly slowAfterMs?: number;
}

interface Waiter {
  readonly grant: () => void;
}

/**
 * Limits how many probes are in flight, and gives each pod its turn, however many probes it has.
 *
 * A probe that takes longer than a second continues outside, so that containers that hang until their
 * timeouts do not block the others. Outside is limited, too; once it is full, slow probes keep their slots.
 */
export class ProbeSlots {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #slowLimit: number;
  readonly #slowAfterMs: number;
  /** By pod uid; the pod whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiter[]>();
  #quick = 0;
  #slow = 0;

  constructor({ clock, limit = 64, slowLimit = 256, slowAfterMs = 1_000 }: ProbeSlotsOptions) {
    this.#clock = clock;
    this.#limit = limit;
    this.#slowLimit = slowLimit;
    this.#slowAfterMs = slowAfterMs;
  }

  /** The number in flight, including slow ones. */
  get inFlight(): number {
    return this.#quick + this.#slow;
  }

  /** The number that waits for a turn. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiting.values()) count += waiters.length;
    return count;
  }

  /** Runs `work` once there is a slot; rejects with the signal's reason when it aborts before. */
  async run<T>(podUid: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#quick >= this.#limit) await this.#turn(podUid, signal);
    else this.#quick++;
    const lease = { isSlow: false };
    let timer: ClockTimer | undefined;
    const leaveWhenSlow = (): void => {
      timer = this.#clock.setTimer(
        this.#slowAfterMs,
        () => {
          // Full: it keeps its slot and tries again later.
          if (this.#slow >= this.#slowLimit) leaveWhenSlow();
          else {
            lease.isSlow = true;
            this.#slow++;
            this.#vacate();
          }
        },
        { unref: true },
      );
    };
    leaveWhenSlow();
    try {
      return await work();
    } finally {
      timer?.cancel();
      if (lease.isSlow) this.#slow--;
      else this.#vacate();
    }
  }

  async #turn(podUid: string, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#leave(podUid, waiter);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        grant: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const waiters = this.#waiting.get(podUid);
      if (waiters === undefined) this.#waiting.set(podUid, [waiter]);
      else waiters.push(waiter);
    });
  }

  #leave(podUid: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(podUid) ?? [];
    const index = waiters.indexOf(waiter);
    if (index >= 0) waiters.splice(index, 1);
    if (waiters.length === 0) this.#waiting.delete(podUid);
  }

  /** Hands the slot to the next one; it is never free in between. */
  #vacate(): void {
    for (const [podUid, waiters] of this.#waiting) {
      const [next, ...others] = waiters;
      this.#waiting.delete(podUid);
      // To the end of the queue: the other pods come first.
      if (others.length > 0) this.#waiting.set(podUid, others);
      next!.grant();
      return;
    }
    this.#quick--;
  }
}
