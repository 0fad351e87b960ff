import { abortable } from '../util/abortable.js';
import { type Clock } from '../util/clock.js';

/** For how long a call may take, and who else may end it. */
export interface CallDeadline {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Said when time is up. */
  readonly message: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes a call that ends at its deadline or with the signal, even if it takes no notice of either.
 *
 * Leaves neither timer nor listener behind: the signal may live as long as the process, and calls are made every
 * second. (AbortSignal.any would keep something of each call on the signal.)
 */
export async function callWithDeadline<T>(
  { clock, deadlineMs, message, signal }: CallDeadline,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const ending = new AbortController();
  const timer = clock.setTimer(deadlineMs, () => ending.abort(new Error(message)), { unref: true });
  const onAbort = (): void => ending.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await abortable(call(ending.signal), ending.signal);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}
