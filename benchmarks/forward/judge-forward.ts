import { type Goal, ratioAtMost } from '../goals.js';
import { bootstrapRatio, median } from '../stats.js';

/** What was measured. */
export interface ForwardFigures {
  /** At once. */
  readonly connections: number;
  /** Until all of them had their answer, in each round. */
  readonly directMs: readonly number[];
  readonly forwardedMs: readonly number[];
}

/** So many times as long as direct connections the forwarded ones may take. */
const LIMIT = 10;

/** Holds the forwarded connections against the direct ones of the same rounds. */
export function judgeForward({ connections, directMs, forwardedMs }: ForwardFigures): Goal {
  return ratioAtMost({
    what: `${connections} connections at once through podloop port-forward`,
    ratio: bootstrapRatio(forwardedMs, directMs, median),
    limit: LIMIT,
    of: 'direct connections',
    rounds: directMs.length,
  });
}
