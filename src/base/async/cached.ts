/**
 * An answer that many ask for: read once for all of them, and served again for a while.
 *
 * In: a read that may take long, fail or hang. Out: its value. There are never two reads at a time, however
 * many callers there are: a caller gets the fresh value, or the running read, or starts one. A read that its
 * callers gave up continues for the next one; otherwise callers that come and go would start one after the
 * other. A read that ignores its abort stays the current one until it ends.
 *
 * @module
 */
import { formatGoDuration } from '../time/go-duration.js';
import { messageOf } from '../errors/errors.js';
import { type Clock } from '../time/clock.js';
import { abortable } from './abortable.js';

/** Options of {@link Cached}. */
export interface CachedOptions<Value> {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonicMs'>;
  /** The signal aborts at the deadline. */
  readonly read: (signal: AbortSignal) => Promise<Value>;
  /** How long a value is served without another read, in milliseconds (default: 0). */
  readonly freshMs?: number;
  /** The limit for a read, and for the wait of each caller, in milliseconds (default: none). */
  readonly deadlineMs?: number;
  /** The error at the deadline (default: one that names the limit). */
  readonly late?: () => Error;
  /**
   * For {@link Cached.refresh}: called when a read fails, once as long as it fails with the same message. The
   * last value stays meanwhile. Without it, an old value is freed before the next read.
   */
  readonly onError?: (error: unknown) => void;
}

/** See the module. */
export class Cached<Value> {
  readonly #options: CachedOptions<Value>;
  #current: Promise<Value> | undefined;
  #last: { readonly value: Value; readonly readAtMs: number } | undefined;
  #complaint: string | undefined;

  constructor(options: CachedOptions<Value>) {
    this.#options = options;
  }

  /** The last value that may be served again, however old; undefined if there is none. */
  get value(): Value | undefined {
    return this.#last?.value;
  }

  /** Rejects with the read's error, with the signal's reason, or after the deadline. */
  async get(signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted();
    const { clock, freshMs = 0 } = this.#options;
    if (this.#last !== undefined && clock.monotonicMs() - this.#last.readAtMs < freshMs) {
      return this.#last.value;
    }
    const waiting = new AbortController();
    const stop = this.#abortLate(waiting);
    const giveUp = (): void => waiting.abort(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await abortable((this.#current ??= this.#begin()), waiting.signal);
    } finally {
      stop();
      signal.removeEventListener('abort', giveUp);
    }
  }

  /**
   * Updates {@link value} unless it is fresh. Resolves when that is over or late; rejects only with the
   * signal's reason.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      await this.get(signal);
      this.#complaint = undefined;
    } catch (error) {
      signal.throwIfAborted();
      const complaint = messageOf(error);
      if (complaint !== this.#complaint) this.#options.onError?.(error);
      this.#complaint = complaint;
    }
  }

  #begin(): Promise<Value> {
    const { clock, read, freshMs = 0, onError } = this.#options;
    // It may have megabytes.
    if (onError === undefined) this.#last = undefined;
    const isServedAgain = freshMs > 0 || onError !== undefined;
    const ending = new AbortController();
    const stop = this.#abortLate(ending);
    const reading = Promise.resolve().then(() => read(ending.signal));
    reading.then(
      (value) => {
        stop();
        this.#current = undefined;
        if (isServedAgain) this.#last = { value, readAtMs: clock.monotonicMs() };
      },
      () => {
        stop();
        this.#current = undefined;
      },
    );
    return reading;
  }

  /** Aborts at the deadline, unless the returned function is called before. */
  #abortLate(controller: AbortController): () => void {
    const { clock, deadlineMs, late } = this.#options;
    if (deadlineMs === undefined) return () => undefined;
    const abort = (): void =>
      controller.abort(late?.() ?? new Error(`not answered within ${formatGoDuration(deadlineMs)}`));
    const timer = clock.setTimer(deadlineMs, abort, { unref: true });
    return () => timer.cancel();
  }
}
