import { type Clock } from '../time/clock.js';

/** A timer may fire a little early, and a beat is not to come twice. */
const LEAST_PART = 0.1;

/**
 * Milliseconds until the next multiple of `periodMs` on the monotonic clock, for what looks at something again and
 * again: all that look at such times wake the process once, together. At least a tenth of the period.
 */
export function untilNextBeatMs(clock: Pick<Clock, 'monotonicMs'>, periodMs: number): number {
  const restMs = periodMs - (clock.monotonicMs() % periodMs);
  return Math.ceil(restMs < periodMs * LEAST_PART ? restMs + periodMs : restMs);
}
