import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

/** How long a piece of work kept the event loop to itself. */
export interface LoopUse {
  /**
   * The longest turn of the loop, in milliseconds: all that ran between two visits of the check phase. No single
   * synchronous slice is longer.
   */
  readonly longestTurnMs: number;
  /** The largest delay of a timer that was due, in milliseconds. */
  readonly longestDelayMs: number;
  /** The longest pause of the garbage collector, which is part of some turn. */
  readonly longestGcMs: number;
}

const RESOLUTION_MS = 1;

/** Runs something once with a probe in every turn of the loop, and once with a monitor beside it. */
export async function probeLoop(run: () => Promise<unknown>): Promise<LoopUse> {
  let longestGcMs = 0;
  const gc = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestGcMs = Math.max(longestGcMs, duration);
  });
  gc.observe({ entryTypes: ['gc'] });
  const longestTurnMs = await measureLongestTurn(run);
  // The observer hears of collections in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  gc.disconnect();
  return { longestTurnMs, longestGcMs, longestDelayMs: await measureLongestDelay(run) };
}

async function measureLongestTurn(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let probing = true;
  const visit = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (probing) setImmediate(visit);
  };
  setImmediate(visit);
  await run();
  probing = false;
  await new Promise((resolve) => setImmediate(resolve));
  return longest;
}

async function measureLongestDelay(run: () => Promise<unknown>): Promise<number> {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  // The first interval begins with the first tick; before it there is nothing to be late against.
  while (monitor.count === 0) await new Promise((resolve) => setTimeout(resolve, RESOLUTION_MS));
  await run();
  await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION_MS));
  monitor.disable();
  return Math.max(0, monitor.max / 1e6 - RESOLUTION_MS);
}
