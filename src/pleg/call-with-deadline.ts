import { abortable } from '../util/abortable.js';
import { type Clock } from '../util/clock.js';
import { PodloopError } from '../util/errors.js';
import { startFairDeadline } from '../util/fair-deadline.js';
import { linkAbort } from '../util/linked-abort.js';

/** For how long a call may take, and who else may end it. */
export interface CallDeadline {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Said when time is up. */
  readonly message: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes a call that ends at its deadline (CRI_DEADLINE_EXCEEDED) or with the signal (its reason), even if it takes no
 * notice of either. Leaves neither timer nor listener behind: such calls are made every second.
 */
export async function callWithDeadline<T>(
  { clock, deadlineMs, message, signal }: CallDeadline,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const ending = linkAbort(signal);
  const deadline = startFairDeadline({
    clock,
    deadlineMs,
    unref: true,
    onExpired: () => ending.abort(new PodloopError('CRI_DEADLINE_EXCEEDED', message)),
  });
  try {
    return await abortable(call(ending.signal), ending.signal);
  } finally {
    deadline.cancel();
    ending.unlink();
  }
}
