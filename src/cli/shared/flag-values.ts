import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { parseGoDuration } from '#base/time/go-duration.js';

/** A duration as Go writes it, in milliseconds. */
export function parseDurationFlag(text: string): number {
  try {
    return parseGoDuration(text, 'duration');
  } catch {
    throw new InvalidArgumentError('use a duration such as 500ms, 20s or 1h30m');
  }
}

/** The same, but greater than zero. */
export function parsePositiveDuration(text: string): number {
  try {
    const durationMs = parseGoDuration(text, 'duration');
    if (durationMs > 0) return durationMs;
  } catch {
    // What commander prints has the flag's name and the value already.
  }
  throw new InvalidArgumentError('use a positive duration such as 1s, 500ms or 1m30s');
}

/** A path, from the working directory where it is relative. */
export function parsePathFlag(text: string): string {
  return text === '' ? '' : resolve(text);
}

/** A whole number, which may be negative. */
export function parseWholeFlag(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('use a whole number');
  return Number(text);
}
