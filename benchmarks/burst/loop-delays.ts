/** What is read of Node's histogram of the event loop's delay. */
export interface DelayHistogram {
  readonly count: number;
  /** Nanoseconds. */
  percentile(percentile: number): number;
}

/**
 * Each value of a histogram of the event loop's delay, in milliseconds, the least first, so that those of several can be
 * put together. A monitor tells what passed between two ticks of its timer: its period is taken off.
 */
export function delaysOf(histogram: DelayHistogram, periodMs: number): number[] {
  const { count } = histogram;
  return Array.from({ length: count }, (_, at) => {
    const tookMs = histogram.percentile((100 * (at + 1)) / count) / 1e6;
    return Math.max(0, tookMs - periodMs);
  });
}
