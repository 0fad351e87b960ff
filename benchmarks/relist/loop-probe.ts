import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { criCallEnded } from '#base/channels/channels.js';

/** How long a piece of work kept the event loop to itself, in milliseconds. */
export interface LoopUse {
  /**
   * The longest turn of the loop: all that ran between two visits of the check phase, pauses of the garbage collector
   * included. No single synchronous slice is longer.
   */
  readonly longestTurnMs: number;
  /** The largest delay of a timer that was due. */
  readonly longestDelayMs: number;
  /** The longest pause of the garbage collector, which is part of some turn. */
  readonly longestGcMs: number;
  /** The longest turn until the last answer was there, without the collector's pauses in it: the transport's. */
  readonly longestTransportMs: number;
  /**
   * The same of what came after the last answer: podloop's own, the decoding of both answers and the comparing, for it
   * reads neither list before it has both. NaN where no client of podloop made the calls.
   */
  readonly longestOwnMs: number;
}

/** A stretch of time, by `performance.now()`. */
export interface Stretch {
  readonly beganMs: number;
  readonly endedMs: number;
}

const RESOLUTION_MS = 1;
/** A runtime gives its lists in one answer each, or streams them. */
const LIST_METHOD = /^(?:List|Stream)(?:Containers|PodSandbox(?:es)?)$/;

/** Runs something once with a probe in every turn of the loop, and once with a monitor beside it. */
export async function probeLoop(run: () => Promise<unknown>): Promise<LoopUse> {
  const pauses: Stretch[] = [];
  const gc = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      pauses.push({ beganMs: startTime, endedMs: startTime + duration });
  });
  gc.observe({ entryTypes: ['gc'] });
  let answeredMs = Number.NaN;
  const stopListening = criCallEnded.subscribe(({ call }) => {
    // Any other call that came later would hide the reading of the lists.
    if (LIST_METHOD.test(call.method)) answeredMs = performance.now();
  });
  const turns = await recordTurns(run);
  stopListening();
  // The observer hears of collections in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  gc.disconnect();
  const hasOwn = !Number.isNaN(answeredMs);
  const [transport, own] = hasOwn ? splitAt(turns, answeredMs) : [turns, []];
  return {
    longestTurnMs: longest(turns, []),
    longestGcMs: longest(pauses, []),
    longestTransportMs: longest(transport, pauses),
    longestOwnMs: hasOwn ? longest(own, pauses) : Number.NaN,
    longestDelayMs: await measureLongestDelay(run),
  };
}

/** Stretches before and after a moment; the one that it lies in is cut. */
export function splitAt(stretches: readonly Stretch[], atMs: number): [Stretch[], Stretch[]] {
  const before: Stretch[] = [];
  const after: Stretch[] = [];
  for (const { beganMs, endedMs } of stretches) {
    if (beganMs < atMs) before.push({ beganMs, endedMs: Math.min(endedMs, atMs) });
    if (endedMs > atMs) after.push({ beganMs: Math.max(beganMs, atMs), endedMs });
  }
  return [before, after];
}

/** The longest of the stretches, each without what pauses took of it; 0 of none. */
export function longest(stretches: readonly Stretch[], pauses: readonly Stretch[]): number {
  return stretches.reduce((most, { beganMs, endedMs }) => {
    const paused = pauses.reduce((sum, pause) => {
      const shared = Math.min(endedMs, pause.endedMs) - Math.max(beganMs, pause.beganMs);
      return sum + Math.max(0, shared);
    }, 0);
    return Math.max(most, endedMs - beganMs - paused);
  }, 0);
}

/** All turns of the loop while something runs, by `now`. */
export async function recordTurns(
  run: () => Promise<unknown>,
  now: () => number = () => performance.now(),
): Promise<Stretch[]> {
  const turns: Stretch[] = [];
  let last = now();
  let probing = true;
  const visit = (): void => {
    const visitedMs = now();
    turns.push({ beganMs: last, endedMs: visitedMs });
    last = visitedMs;
    if (probing) setImmediate(visit);
  };
  setImmediate(visit);
  await run();
  probing = false;
  await new Promise((resolve) => setImmediate(resolve));
  return turns;
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
