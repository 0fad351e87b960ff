import { abortable } from './abortable.js';
import { type Clock } from '../time/clock.js';
import { formatGoDuration } from '../time/go-duration.js';
import { linkAbort } from './linked-abort.js';

/** Options of {@link withinTime}. */
export interface WithinTimeOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** The limit for the whole work. */
  readonly limitMs: number;
  /** The error after the limit (default: an Error that says so). */
  readonly late?: () => Error;
  /** Ends the work early. */
  readonly signal: AbortSignal;
}

/**
 * Runs work in several steps with a common deadline.
 *
 * Its signal aborts at the deadline, and nobody waits for it any more.
 */
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
