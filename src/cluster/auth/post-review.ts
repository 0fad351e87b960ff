import { type Publisher, publishTo } from '#base/channels/publishing-channel.js';
import { type AuthQuestionKind, authReviewEnded } from '#base/channels/auth-channels.js';
import { type Clock } from '#base/time/clock.js';
import { isRecord } from '#base/text/is-record.js';
import { ApiError, type KubeClient, retryAfterMsOf } from '../client/kube-client.js';
import { Backoff } from '#base/async/backoff.js';

/** A question for an API server. */
export interface ReviewRequest {
  readonly kind: AuthQuestionKind;
  readonly path: string;
  readonly body: object;
  /** For each try. */
  readonly timeoutMs: number;
  /** Goes ahead of others: only for what was answered well before, as strangers make up what they like. */
  readonly isUrgent: boolean;
}

/** Who is asked, and by which clock. */
export interface ReviewPorts extends Publisher {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** What objects are answered with that are made. */
const CREATED = 201;

/** The status of the answer to a review; empty when there is none. Rejects when there is no answer after all tries. */
export async function postReview(
  { client, channels, clock, random }: ReviewPorts,
  { kind, path, body, timeoutMs, isUrgent }: ReviewRequest,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const options = { clock, signal, ...(random === undefined ? {} : { random }) };
  const review = await askAgain(options, async () => {
    const startedAtMs = clock.monotonicMs();
    const publish = (code: number | undefined): void =>
      publishTo(channels, authReviewEnded, { kind, code, durationMs: clock.monotonicMs() - startedAtMs });
    try {
      const answer = await client.request<unknown>({
        ...{ method: 'POST', path, body, timeoutMs, isUrgent, signal },
      });
      publish(CREATED);
      return answer;
    } catch (error) {
      publish(error instanceof ApiError ? error.code : undefined);
      throw error;
    }
  });
  return isRecord(review) && isRecord(review['status']) ? review['status'] : {};
}

/** What {@link askAgain} goes by. */
interface AskAgainOptions {
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
async function askAgain<T>(
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
