import { InvalidArgumentError } from 'commander';
import { parseGoDuration } from '../util/go-duration.js';

/** A duration as Go writes it, in milliseconds. */
export function parseDurationFlag(text: string): number {
  try {
    return parseGoDuration(text, 'duration');
  } catch {
    throw new InvalidArgumentError('use a duration such as 500ms, 20s or 1h30m');
  }
}

/** A whole number, also below zero. */
export function parseWholeFlag(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('use a whole number');
  return Number(text);
}
