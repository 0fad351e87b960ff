/**
 * What one run of a probe showed.
 *
 * `warning` counts as success. `error` says that the probe could not be run; it counts neither way.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure' | 'error';
  /**
   * True for what the other side said or did: an answer, a refused connection, an exit code. A stall of ours cannot
   * have made it. False for its silence: no answer in time, or a connection that ended before one.
   */
  readonly isDecisive: boolean;
  /**
   * For how long it was waited for, in milliseconds, where that was longer than the timeout: the runtime answered other
   * calls, and this one not. A short stall of ours does not explain such a silence.
   */
  readonly unansweredMs?: number;
  /** It was not begun, as too many of its kind are still open. */
  readonly isHeldBack?: true;
  /** In the kubelet's words where it has any; empty when there is nothing to say. At most 10 KiB. */
  readonly message: string;
}

/** No more than this of an answer or of a command's output is kept, in bytes. */
export const MOST_OUTPUT_BYTES = 10 * 1024;

/** The probe found what it wanted. */
export function succeeded(message: string): ProbeOutcome {
  return { result: 'success', isDecisive: true, message };
}

/** It counts as success, and somebody should look at it. */
export function succeededWithWarning(message: string): ProbeOutcome {
  return { result: 'warning', isDecisive: true, message };
}

/** The other side said no. */
export function failed(message: string): ProbeOutcome {
  return { result: 'failure', isDecisive: true, message };
}

/** The other side said nothing, in all the time it had. */
export function silent(message: string): ProbeOutcome {
  return { result: 'failure', isDecisive: false, message };
}

/** The runtime did not answer for the other side, although it answered others. */
export function unanswered(message: string, unansweredMs: number): ProbeOutcome {
  return { ...silent(message), unansweredMs };
}

/** The probe was not begun. */
export function heldBack(message: string): ProbeOutcome {
  return { ...errored(message), isHeldBack: true };
}

/** The probe could not be run. */
export function errored(message: string): ProbeOutcome {
  return { result: 'error', isDecisive: false, message };
}
