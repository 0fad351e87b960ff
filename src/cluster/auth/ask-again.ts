import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { ApiError, retryAfterMsOf } from '../client/kube-client.js';

/** What {@link askAgain} goes by. */
export interface AskAgainOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** As a kubelet: five tries, 0.5 s after the first and half as much again after each other, up to a fifth longer by chance. */
const MAX_TRIES = 5;
const FIRST_MS = 500;
const FACTOR = 1.5;
const JITTER = 0.2;

/**
 * Does `ask` until it succeeds, at most five times, with growing pauses; rejects as the last try did. What the API server
 * refuses for good (4xx) is not asked for again.
 */
export async function askAgain<T>(
  { clock, signal, random = Math.random }: AskAgainOptions,
  ask: () => Promise<T>,
): Promise<T> {
  const backoff = new Backoff({ initialMs: FIRST_MS, maxMs: Infinity, factor: FACTOR });
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || tries === MAX_TRIES || !isPassing(error)) throw error;
      const pauseMs = backoff.nextMs() * (1 + JITTER * random());
      const asked = retryAfterMsOf(error);
      await clock.sleep(Math.max(pauseMs, asked), signal);
    }
  }
}

/** Whether it may be otherwise in a moment: nobody was reached, or whoever was had too much to do. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code >= 500 || error.code === 429 || error.code === 408;
}
