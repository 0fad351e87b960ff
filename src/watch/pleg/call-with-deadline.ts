import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';

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
  const ending = new AbortController();
  // Set before anybody can call it: the promise below runs its function at once.
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
        // Before the call hears of it, so that the caller sees this reason and not what the call makes of it. The
        // signal's comes as it is, Error or not.
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
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
