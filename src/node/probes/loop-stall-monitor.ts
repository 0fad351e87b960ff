import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** How much of a span of time this process could not use. */
export interface StallTime {
  /** All stalls together, in milliseconds. */
  readonly totalMs: number;
  /** The longest of them. */
  readonly longestMs: number;
}

/** A span of time that is monitored for stalls. */
export interface StallWatch {
  /** Since the watch began; includes a stall that ends with this call. */
  stalled(): StallTime;
  /** Ends the watch. Idempotent. */
  stop(): void;
}

/** Options of {@link LoopStallMonitor}. */
export interface LoopStallMonitorOptions {
  readonly clock: Clock;
}

// Short compared to a probe's shortest timeout of a second; costs nothing while no probe is in flight.
const TICK_MS = 20;
/** A smaller delay of a timer means nothing: slices of work are that long. */
const TOLERATED_MS = 20;

/**
 * Measures when the event loop stood still: a short timer that fires late shows for how long.
 *
 * It ticks only while somebody watches. A process that was stopped or starved looks the same, and rightly so:
 * it could not have read an answer.
 */
export class LoopStallMonitor {
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();
  #timer: ClockTimer | undefined;
  #lastTickMs = 0;

  constructor({ clock }: LoopStallMonitorOptions) {
    this.#clock = clock;
  }

  /** The number of spans being watched. */
  get watching(): number {
    return this.#watches.size;
  }

  /** Begins to watch. */
  watch(): StallWatch {
    // A stall that is just ending belongs to the watches that began before.
    if (this.#timer === undefined) this.#lastTickMs = this.#clock.monotonicMs();
    else this.#measure();
    const watch = new Watch();
    this.#watches.add(watch);
    if (this.#timer === undefined) this.#arm();
    return {
      stalled: () => {
        // Timers that fell due in a stall run in the order of their due times: the monitor's may not have had
        // its turn yet.
        if (this.#watches.has(watch)) this.#measure();
        return { totalMs: watch.totalMs, longestMs: watch.longestMs };
      },
      stop: () => {
        this.#watches.delete(watch);
        if (this.#watches.size > 0) return;
        this.#timer?.cancel();
        this.#timer = undefined;
      },
    };
  }

  #arm(): void {
    this.#timer = this.#clock.setTimer(
      TICK_MS,
      () => {
        this.#measure();
        this.#arm();
      },
      { unref: true },
    );
  }

  #measure(): void {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - this.#lastTickMs - TICK_MS;
    this.#lastTickMs = nowMs;
    if (lateMs <= TOLERATED_MS) return;
    for (const watch of this.#watches) watch.add(lateMs);
  }
}

class Watch {
  totalMs = 0;
  longestMs = 0;

  add(ms: number): void {
    this.totalMs += ms;
    this.longestMs = Math.max(this.longestMs, ms);
  }
}
