import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';

/** The deadline of a call and the signal that may end it. */
export interface CallDeadline {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The error message when the deadline passes. */
  readonly message: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes a call that ends at its deadline (CRI_DEADLINE_EXCEEDED) or with the signal (its reason), even if the
 * call ignores both.
 *
 * Leaves neither timer nor listener behind: such calls are made every second.
 */
export async function callWithDeadline<T>(
  { clock, deadlineMs, message, signal }: CallDeadline,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const ending = new AbortController();
  // Set before anybody can call it: a promise runs its executor at once.
  let end!: (reason: unknown) => void;
  const onAbort = (): void => end(signal!.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const deadline = startFairDeadline({
    clock,
    deadlineMs,
    unref: true,
    onExpired: () => end(new PodloopError('CRI_DEADLINE_EXCEEDED', message)),
  });
  try {
    return await new Promise<T>((resolve, reject) => {
      end = (reason) => {
        // Rejects before aborting the call, so that the caller sees this reason and not the call's own error.
        // The signal's reason is passed on as it is, whether or not it is an Error.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(reason);
        ending.abort(reason);
      };
      call(ending.signal).then(resolve, reject);
    });
  } finally {
    deadline.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}
