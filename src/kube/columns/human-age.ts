import { formatHumanDuration } from '#base/time/human-duration.js';

/** How long ago a moment was, as kubectl's tables have it; `<unknown>` for none. */
export function formatAge(timestamp: string | null | undefined, nowMs: number): string {
  const thenMs = parseTime(timestamp);
  return thenMs === undefined ? '<unknown>' : formatAgeOf(thenMs, nowMs);
}

/** The same of a moment in milliseconds since the epoch. */
export function formatAgeOf(thenMs: number, nowMs: number): string {
  const ageMs = nowMs - thenMs;
  // The clocks of two sides are never quite the same.
  return ageMs <= -2000 ? '<invalid>' : formatHumanDuration(ageMs);
}

/** Milliseconds since the epoch of an RFC 3339 text; undefined when there is none, or it is none. */
export function parseTime(timestamp: string | null | undefined): number | undefined {
  if (timestamp === undefined || timestamp === null || timestamp === '') return undefined;
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? undefined : then;
}
