import { type ProbeOutcome } from './probe-outcome.js';
import { type StallTime } from './loop-stall-monitor.js';

// With a timeout of a second: a stall of 100 ms, or several that take up half of it.
const LONGEST_SHARE = 0.1;
const TOTAL_SHARE = 0.5;

/**
 * Whether an outcome may be our own doing: silence, while this process could not listen. Pure.
 *
 * A success that arrived is one whenever it is read, and so is what the other side said or refused: no stall makes an
 * exit code, a status or a refused connection. Silence is another matter. The answer may lie in the socket, the request
 * may never have been sent, the other side may have hung up because nothing came from us.
 */
export function isVoid(outcome: ProbeOutcome, stalled: StallTime, timeoutMs: number): boolean {
  if (outcome.result !== 'failure' || outcome.isDecisive) return false;
  const silentMs = Math.max(timeoutMs, outcome.unansweredMs ?? 0);
  return stalled.longestMs >= silentMs * LONGEST_SHARE || stalled.totalMs >= silentMs * TOTAL_SHARE;
}
