import { abortable } from './abortable.js';
import { type Clock } from '../time/clock.js';

/** What a {@link SharedLook} needs. */
export interface SharedLookOptions<Value> {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** How long a look may take, in milliseconds; its signal aborts then. */
  readonly deadlineMs: number;
  /** What those are told who have waited for a look that long. */
  readonly late: () => Error;
  readonly look: (signal: AbortSignal) => Promise<Value>;
}

/**
 * One look for all who ask while it is under way: never two at a time, however many ask.
 *
 * Who asks gets the look that is under way, or sets off one. A look that somebody gave up goes on, for the next who asks:
 * else those who come and go would set off one after the other. One that does not even end when its time is up keeps its
 * place until it does.
 */
export class SharedLook<Value> {
  readonly #options: SharedLookOptions<Value>;
  #current: Promise<Value> | undefined;

  constructor(options: SharedLookOptions<Value>) {
    this.#options = options;
  }

  /** Rejects with what the look rejects with, with the signal's reason, or when it was waited for too long. */
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
