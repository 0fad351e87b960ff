import { abortable } from './abortable.js';
import { type Clock } from '../time/clock.js';
import { formatGoDuration } from '../time/go-duration.js';
import { linkAbort } from './linked-abort.js';

/** What {@link withinTime} needs. */
export interface WithinTimeOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** For all of the work together. */
  readonly limitMs: number;
  /** What the work ends with when the time is over; an Error that says so, unless told. */
  readonly late?: () => Error;
  /** Ends it before. */
  readonly signal: AbortSignal;
}

/** Does work of several steps that have one deadline together. Its signal aborts then, and nobody waits for it any more. */
export async function withinTime<T>(
  { clock, limitMs, late = () => tooLate(limitMs), signal }: WithinTimeOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const link = linkAbort(signal);
  const timer = clock.setTimer(limitMs, () => link.abort(late()), { unref: true });
  try {
    return await abortable(work(link.signal), link.signal);
  } finally {
    timer.cancel();
    link.unlink();
  }
}

function tooLate(limitMs: number): Error {
  return new Error(`not done within ${formatGoDuration(limitMs)}`);
}
