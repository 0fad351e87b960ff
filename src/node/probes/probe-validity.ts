import { type ProbeOutcome } from './probe-outcome.js';
import { type StallTime } from './loop-stall-monitor.js';

// With a timeout of a second: a stall of 100 ms, or several that take up half of it.
const MAX_SHARE = 0.1;
const TOTAL_SHARE = 0.5;

/**
 * Whether an outcome may be caused by this process: silence while it could not listen. Pure.
 *
 * A success counts whenever it is read, and so does what the other side said or refused: no stall makes an
 * exit code, a status or a refused connection. With silence, the answer may be in the socket, the request may
 * never have been sent, or the other side may have closed because nothing came.
 */
export function isVoid(outcome: ProbeOutcome, stalled: StallTime, timeoutMs: number): boolean {
  if (outcome.result !== 'failure' || outcome.isDecisive) return false;
  const silentMs = Math.max(timeoutMs, outcome.unansweredMs ?? 0);
  return stalled.longestMs >= silentMs * MAX_SHARE || stalled.totalMs >= silentMs * TOTAL_SHARE;
}
