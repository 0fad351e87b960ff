/**
 * The outcome of one run of a probe.
 *
 * `warning` counts as success. `error` means that the probe could not be run; it counts neither way.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure' | 'error';
  /**
   * True for something that the other side said or did: an answer, a refused connection, an exit code.
   *
   * A stall of this process cannot have caused that. False for silence: no answer in time, or a connection
   * that ended before one.
   */
  readonly isDecisive: boolean;
  /**
   * How long the probe waited, in milliseconds, if longer than the timeout.
   *
   * The runtime answered other calls, but not this one. A short stall of this process does not explain such a
   * silence.
   */
  readonly unansweredMs?: number;
  /** The probe was skipped, as too many of its kind are still open. */
  readonly isHeldBack?: true;
  /** In the kubelet's words where it has any; empty when there is nothing to say. At most 10 KiB. */
  readonly message: string;
}

/** Maximum of stored bytes of an answer or of a command's output. */
export const MAX_OUTPUT_BYTES = 10 * 1024;

/** Success. */
export function succeeded(message: string): ProbeOutcome {
  return { result: 'success', isDecisive: true, message };
}

/** Success that somebody should check. */
export function succeededWithWarning(message: string): ProbeOutcome {
  return { result: 'warning', isDecisive: true, message };
}

/** The other side said no. */
export function failed(message: string): ProbeOutcome {
  return { result: 'failure', isDecisive: true, message };
}

/** The other side said nothing in time. */
export function silent(message: string): ProbeOutcome {
  return { result: 'failure', isDecisive: false, message };
}

/** The runtime did not answer for the container, although it answered other calls. */
export function unanswered(message: string, unansweredMs: number): ProbeOutcome {
  return { ...silent(message), unansweredMs };
}

/** The probe was skipped. */
export function heldBack(message: string): ProbeOutcome {
  return { ...errored(message), isHeldBack: true };
}

/** The probe could not be run. */
export function errored(message: string): ProbeOutcome {
  return { result: 'error', isDecisive: false, message };
}
