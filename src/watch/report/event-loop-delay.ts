import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { type ReportedEventLoop } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';

/**
 * The sampling period.
 *
 * A stall longer than this is always caught; a shorter one is caught with a probability proportional to its
 * length. Each sample wakes an idle process.
 */
const RESOLUTION_MS = 250;
/** The length of a window; the report covers the present window and the one before. */
const WINDOW_MS = 60_000;

/** Measures how late the event loop is. */
export class EventLoopDelay implements Disposable {
  readonly #clock: Clock;
  readonly #histogram: IntervalHistogram;
  readonly #stopping = new AbortController();
  #before: ReportedEventLoop = { meanMs: 0, p99Ms: 0, maxMs: 0 };

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
    this.#histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#histogram.enable();
    this.#turn();
  }

  /** The worse one of the present window and the one before. */
  read(): ReportedEventLoop {
    const now = this.#now();
    return {
      meanMs: Math.max(now.meanMs, this.#before.meanMs),
      p99Ms: Math.max(now.p99Ms, this.#before.p99Ms),
      maxMs: Math.max(now.maxMs, this.#before.maxMs),
    };
  }

  [Symbol.dispose](): void {
    this.#stopping.abort();
    this.#histogram.disable();
  }

  #turn(): void {
    const timer = this.#clock.setTimer(
      WINDOW_MS,
      () => {
        this.#before = this.#now();
        this.#histogram.reset();
        this.#turn();
      },
      { unref: true },
    );
    this.#stopping.signal.onabort = () => timer.cancel();
  }

  #now(): ReportedEventLoop {
    const { count, mean, max } = this.#histogram;
    if (count === 0) return { meanMs: 0, p99Ms: 0, maxMs: 0 };
    return { meanMs: lateMs(mean), p99Ms: lateMs(this.#histogram.percentile(99)), maxMs: lateMs(max) };
  }
}

/** The histogram measures from one sample to the next, so the sampling period has to be subtracted. */
function lateMs(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
}
