/**
 * Time, in three kinds that must not be confused: wall time for people, monotonic milliseconds for durations,
 * and stamps for order.
 *
 * @module
 */
import { setTimeout as sleepFor } from 'node:timers/promises';

declare const stampBrand: unique symbol;

/**
 * A point in the order of events in this process.
 *
 * It is opaque, comparable only with stamps of the same {@link Clock}, and unrelated to the wall clock. Take
 * one before you send a call: whatever the answer shows is at least as new as the stamp.
 */
export type Stamp = number & { readonly [stampBrand]: true };

/** A stamp older than any that a clock returns. */
export const OLDEST_STAMP = 0 as Stamp;

/** A timer that was set with {@link Clock.setTimer}. */
export interface ClockTimer {
  /** Stops it; does nothing once it has fired. */
  cancel(): void;
}

/** The source of time. Everything that reads time or waits takes one, so that tests can control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. It can jump: show it, never compare it. */
  now(): number;
  /** Milliseconds since an arbitrary origin; never goes back. */
  monotonicMs(): number;
  /** A stamp strictly newer than every stamp returned before. */
  stamp(): Stamp;
  /** Calls `callback` once after `delayMs`. The timer does not keep the process alive if `unref` is set. */
  setTimer(delayMs: number, callback: () => void, options?: { unref?: boolean }): ClockTimer;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** A Node timer with a longer delay fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The system's clock. */
export class SystemClock implements Clock {
  #lastStamp = 0;

  now(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  stamp(): Stamp {
    return ++this.#lastStamp as Stamp;
  }

  setTimer(delayMs: number, callback: () => void, options?: { unref?: boolean }): ClockTimer {
    let timer: NodeJS.Timeout | undefined;
    const arm = (leftMs: number): void => {
      const partMs = Math.min(leftMs, MAX_TIMER_MS);
      timer = setTimeout(() => (leftMs > partMs ? arm(leftMs - partMs) : callback()), partMs);
      if (options?.unref === true) timer.unref();
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(timer) };
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    try {
      let leftMs = delayMs;
      for (; leftMs > MAX_TIMER_MS; leftMs -= MAX_TIMER_MS) {
        await sleepFor(MAX_TIMER_MS, undefined, { signal });
      }
      await sleepFor(leftMs, undefined, { signal });
    } catch (error) {
      // Node wraps the reason in its own AbortError; callers expect the reason itself.
      signal?.throwIfAborted();
      throw error;
    }
  }
}
