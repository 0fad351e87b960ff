import { abortable } from './abortable.js';
import { type Clock } from '../time/clock.js';

/** Options of {@link SharedLook}. */
export interface SharedLookOptions<Value> {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** The deadline of a read, in milliseconds; its signal aborts then. */
  readonly deadlineMs: number;
  /** The error for callers that have waited this long. */
  readonly late: () => Error;
  readonly look: (signal: AbortSignal) => Promise<Value>;
}

/**
 * One read that is shared by all callers while it runs: never two at a time, however many callers there are.
 *
 * A caller gets the running read, or starts one. A read that its caller gave up continues for the next one;
 * otherwise callers that come and go would start one after the other. A read that ignores its abort stays the
 * current one until it ends.
 */
export class SharedLook<Value> {
  readonly #options: SharedLookOptions<Value>;
  #current: Promise<Value> | undefined;

  constructor(options: SharedLookOptions<Value>) {
    this.#options = options;
  }

  /** Rejects with the read's error, with the signal's reason, or after the deadline. */
  async get(signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted();
    const { clock, deadlineMs, late } = this.#options;
    const waiting = new AbortController();
    const timer = clock.setTimer(deadlineMs, () => waiting.abort(late()), { unref: true });
    const giveUp = (): void => waiting.abort(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await abortable((this.#current ??= this.#begin()), waiting.signal);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', giveUp);
    }
  }

  #begin(): Promise<Value> {
    const { clock, deadlineMs, late, look } = this.#options;
    const ending = new AbortController();
    const timer = clock.setTimer(deadlineMs, () => ending.abort(late()), { unref: true });
    const looking = Promise.resolve().then(() => look(ending.signal));
    const end = (): void => {
      timer.cancel();
      this.#current = undefined;
    };
    looking.then(end, end);
    return looking;
  }
}
