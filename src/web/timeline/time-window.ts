/** The part of time that is shown, in milliseconds since the epoch. */
export interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A line of the axis. */
export interface Tick {
  readonly atMs: number;
  /** Whether a day begins there. */
  readonly isDay: boolean;
}

/** The limits of the zoom. */
export const SHORTEST_MS = 1_000;
export const MAX_SPAN_MS = 8 * 86_400_000;

/** Where now stands in a window that follows it: a little before its right end. */
export const NOW_AT = 0.97;

/** The window of that length that follows now. */
export function windowAtNow(lengthMs: number, nowMs: number): TimeWindow {
  const fromMs = nowMs - lengthMs * NOW_AT;
  return { fromMs, toMs: fromMs + lengthMs };
}

/** The window of that length with a moment in its middle. */
export function windowAround(ms: number, lengthMs: number): TimeWindow {
  return { fromMs: ms - lengthMs / 2, toMs: ms + lengthMs / 2 };
}

/** Makes it longer (`factor` above 1) or shorter; the moment stays where it is. */
export function zoomAt({ fromMs, toMs }: TimeWindow, factor: number, atMs: number): TimeWindow {
  const length = toMs - fromMs;
  const next = Math.min(MAX_SPAN_MS, Math.max(SHORTEST_MS, length * factor));
  const from = atMs - ((atMs - fromMs) / length) * next;
  return { fromMs: from, toMs: from + next };
}

/** Moves it by a part of its length; to the left for a negative one. */
export function panBy({ fromMs, toMs }: TimeWindow, part: number, nowMs: number): TimeWindow {
  const length = toMs - fromMs;
  // There is nothing to see in the future.
  const latest = windowAtNow(length, nowMs).fromMs;
  const from = Math.min(fromMs + part * length, Math.max(latest, fromMs));
  return { fromMs: from, toMs: from + length };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 7].map((each) => each * DAY),
];

/** The distance of the ticks, so that there are at most so many. */
export function stepFor({ fromMs, toMs }: TimeWindow, maxTicks: number): number {
  const least = (toMs - fromMs) / Math.max(1, maxTicks);
  return STEPS.find((step) => step >= least) ?? STEPS.at(-1)!;
}

/** Ticks at round local times; `offsetMs` is how far local time is ahead of UTC. */
export function ticksOf({ fromMs, toMs }: TimeWindow, stepMs: number, offsetMs: number): Tick[] {
  const ticks: Tick[] = [];
  for (
    let local = Math.ceil((fromMs + offsetMs) / stepMs) * stepMs;
    local <= toMs + offsetMs;
    local += stepMs
  )
    ticks.push({ atMs: local - offsetMs, isDay: local % DAY === 0 });
  return ticks;
}
