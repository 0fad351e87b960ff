import { formatHumanDuration } from '#base/time/human-duration.js';

/** The age of a timestamp as in kubectl's tables; `<unknown>` if there is none. */
export function formatAge(timestamp: string | null | undefined, nowMs: number): string {
  const thenMs = parseTime(timestamp);
  return thenMs === undefined ? '<unknown>' : formatAgeOf(thenMs, nowMs);
}

/** The same for a moment in milliseconds since the epoch. */
export function formatAgeOf(thenMs: number, nowMs: number): string {
  const ageMs = nowMs - thenMs;
  // The clocks of two machines always differ a little.
  return ageMs <= -2000 ? '<invalid>' : formatHumanDuration(ageMs);
}

/** Parses an RFC 3339 time into milliseconds since the epoch; undefined if it is missing or malformed. */
export function parseTime(timestamp: string | null | undefined): number | undefined {
  if (timestamp === undefined || timestamp === null || timestamp === '') return undefined;
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? undefined : then;
}
