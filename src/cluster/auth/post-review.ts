import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { authReviewEnded, type AuthQuestionKind } from '#base/channels/auth-channels.js';
import { type Clock } from '#base/time/clock.js';
import { isRecord } from '#base/text/is-record.js';
import { ApiError, type KubeClient } from '../client/kube-client.js';
import { askAgain } from './ask-again.js';

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
    const tell = (code: number | undefined): void =>
      publishTo(channels, authReviewEnded, { kind, code, durationMs: clock.monotonicMs() - startedAtMs });
    try {
      const answer = await client.request<unknown>({
        ...{ method: 'POST', path, body, timeoutMs, isUrgent, signal },
      });
      tell(CREATED);
      return answer;
    } catch (error) {
      tell(error instanceof ApiError ? error.code : undefined);
      throw error;
    }
  });
  return isRecord(review) && isRecord(review['status']) ? review['status'] : {};
}
