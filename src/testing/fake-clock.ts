import { setImmediate as nextRound } from 'node:timers/promises';
import { type Clock, type ClockTimer, type Stamp } from '#base/time/clock.js';

/** What {@link FakeClock} starts with. */
export interface FakeClockOptions {
  /** Wall-clock time at the start, milliseconds since the epoch (default: 2026-01-02T03:04:05Z). */
  readonly nowMs?: number;
  /**
   * How many rounds of the event loop are let through after each timer (default: 10). Each round runs every
   * promise chain to its end, so only code that yields through setImmediate needs more than one.
   */
  readonly settleRounds?: number;
  /**
   * Timers count in whole milliseconds, as Node's do: what is beyond them of the delay, and of the time at which it is set, is left out,
   * so that a timer may fire up to two milliseconds early. Default: false, so each fires when due.
   */
  readonly firesEarly?: boolean;
}

interface FakeTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** What Node's setTimeout can hold; it takes anything longer for 1 ms. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * A clock that stands still until a test moves it.
 *
 * Timers fire in the order of their due times, and of their setting where these are equal. After each, promise
 * chains and setImmediate callbacks run before the next one fires, as on a real clock.
 */
export class FakeClock implements Clock {
  readonly #timers = new Set<FakeTimer>();
  readonly #settleRounds: number;
  readonly #firesEarly: boolean;
  // Not zero: nobody may take the origin of monotonic time for "never".
  #monotonicMs = 1_000_000;
  #wallOffsetMs: number;
  #lastStamp = 0;
  #advancing = false;

  constructor(options: FakeClockOptions = {}) {
    this.#settleRounds = options.settleRounds ?? 10;
    this.#firesEarly = options.firesEarly ?? false;
    this.#wallOffsetMs = (options.nowMs ?? Date.UTC(2026, 0, 2, 3, 4, 5)) - this.#monotonicMs;
  }

  now(): number {
    return this.#monotonicMs + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  stamp(): Stamp {
    return ++this.#lastStamp as Stamp;
  }

  setTimer(delayMs: number, callback: () => void): ClockTimer {
    if (!(delayMs <= MAX_DELAY_MS)) {
      throw new RangeError(`a real timer of ${delayMs} ms would fire at once; split it, or do not set it`);
    }
    const timer = { dueMs: this.#dueAfter(delayMs), callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        timer.cancel();
        reject(signal?.reason as Error);
      };
      const timer = this.setTimer(delayMs, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** How many timers are set and have not fired. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due, 0 when it is overdue; undefined when none is set. */
  get nextTimerInMs(): number | undefined {
    const next = this.#findNext(Infinity);
    return next && Math.max(0, next.dueMs - this.#monotonicMs);
  }

  /**
   * Moves time by `ms`, firing what falls due on the way, timers set meanwhile included. Resolves when what they
   * started has settled. Rejects with what a callback throws.
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`time does not go by ${ms} ms`);
    await this.#exclusively(async () => {
      const untilMs = this.#monotonicMs + ms;
      await this.settle();
      for (let timer = this.#findNext(untilMs); timer; timer = this.#findNext(untilMs)) {
        await this.#fire(timer);
      }
      this.#monotonicMs = untilMs;
    });
  }

  /**
   * Moves time from timer to timer until `condition` holds. Rejects when `withinMs` (default: 10 min) have
   * gone by, or no timer is left, and it still does not hold.
   */
  async advanceUntil(condition: () => boolean, withinMs = 600_000): Promise<void> {
    await this.#exclusively(async () => {
      const untilMs = this.#monotonicMs + withinMs;
      await this.settle();
      while (!condition()) {
        const timer = this.#findNext(untilMs);
        if (!timer) throw new Error(`condition not met within ${withinMs} ms: ${condition.toString()}`);
        await this.#fire(timer);
      }
    });
  }

  /** Lets promise chains and setImmediate callbacks run, without moving time. */
  async settle(): Promise<void> {
    for (let round = 0; round < this.#settleRounds; round++) await nextRound();
  }

  /**
   * Moves time at once and fires nothing, as when the process was stopped or the event loop blocked; what fell
   * due fires, late, with the next {@link advance}.
   */
  stall(ms: number): void {
    this.#monotonicMs += ms;
  }

  /** Moves the clock on the wall, forth or back; durations and timers do not notice. */
  jumpWallClock(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  #dueAfter(delayMs: number): number {
    if (!this.#firesEarly) return this.#monotonicMs + Math.max(0, delayMs);
    return Math.trunc(this.#monotonicMs) + Math.max(1, Math.trunc(delayMs));
  }

  async #exclusively(move: () => Promise<void>): Promise<void> {
    if (this.#advancing) throw new Error('the clock is being advanced already: await it first');
    this.#advancing = true;
    try {
      await move();
    } finally {
      this.#advancing = false;
    }
  }

  async #fire(timer: FakeTimer): Promise<void> {
    this.#monotonicMs = Math.max(this.#monotonicMs, timer.dueMs);
    this.#timers.delete(timer);
    timer.callback();
    await this.settle();
  }

  #findNext(untilMs: number): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > untilMs) continue;
      // A set keeps the order of insertion, so that the first of equals stays.
      if (!next || timer.dueMs < next.dueMs) next = timer;
    }
    return next;
  }
}
