import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { type ReportedEventLoop } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';

/** The sampling period by default. */
const RESOLUTION_MS = 250;
/** The length of a window; the report covers the present window and the one before. */
const WINDOW_MS = 60_000;

/** Measures how late the event loop is. */
export class EventLoopDelay implements Disposable {
  readonly #clock: Clock;
  readonly #resolutionMs: number;
  readonly #histogram: IntervalHistogram;
  readonly #stopping = new AbortController();
  #before: ReportedEventLoop = { meanMs: 0, p99Ms: 0, maxMs: 0 };

  /**
   * A stall longer than the sampling period (`resolutionMs`, default: 250) is always caught; a shorter one is caught with a
   * probability proportional to its length. Each sample wakes an idle process.
   */
  constructor({ clock, resolutionMs }: { readonly clock: Clock; readonly resolutionMs?: number }) {
    this.#clock = clock;
    this.#resolutionMs = resolutionMs ?? RESOLUTION_MS;
    this.#histogram = monitorEventLoopDelay({ resolution: this.#resolutionMs });
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
    // The histogram measures from one sample to the next.
    const lateMs = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - this.#resolutionMs);
    return { meanMs: lateMs(mean), p99Ms: lateMs(this.#histogram.percentile(99)), maxMs: lateMs(max) };
  }
}
