import { type Clock } from '../time/clock.js';

/** A timer may fire slightly early, and must not cause a second beat at once. */
const LEAST_PART = 0.1;

/**
 * Milliseconds until the next multiple of `periodMs` on the monotonic clock, and at least a tenth of the
 * period.
 *
 * Periodic tasks that use it wake the process once, together.
 */
export function untilNextBeatMs(clock: Pick<Clock, 'monotonicMs'>, periodMs: number): number {
  const restMs = periodMs - (clock.monotonicMs() % periodMs);
  return Math.ceil(restMs < periodMs * LEAST_PART ? restMs + periodMs : restMs);
}
