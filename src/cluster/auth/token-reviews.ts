import { type Publisher } from '#base/channels/publishing-channel.js';
import { createHmac, randomBytes } from 'node:crypto';
import { type Clock } from '#base/time/clock.js';
import { type KubeClient } from '../client/kube-client.js';
import { CachedAnswers, type CachedAnswersStats } from './cached-answers.js';
import { postReview } from './post-review.js';
import { type ClusterUser, readStrings, readUser } from './read-user.js';

/** What {@link TokenReviews} work with. */
export interface TokenReviewsOptions extends Publisher {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  /** authentication.webhook.cacheTTL, in milliseconds (default: 2 min). */
  readonly cacheTtlMs?: number;
  /** For whom a token must be meant: one of these (default: whatever the API server takes itself). */
  readonly audiences?: readonly string[];
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
const CACHE_TTL_MS = 120_000;
/** As a kubelet waits for one. */
const LIMIT_MS = 10_000;
const MAX_CACHED = 4_096;
/** Strangers may show whatever they make up: they must not take all that the client may send. */
const MAX_PENDING = 32;
/** No token of a service account comes near it. */
const MAX_TOKEN_LENGTH = 32 * 1024;

/**
 * Who has which token, as the API server says; kept for a while, also that nobody has it.
 *
 * Tokens themselves are not kept: what is kept goes by a keyed digest of each.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/#kubelet-authentication
 */
export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #answers: CachedAnswers<{ readonly user: ClusterUser | undefined }>;
  readonly #key = randomBytes(32);

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#answers = new CachedAnswers({
      kind: 'authn',
      ...{
        channels: options.channels,
        clock: options.clock,
        limitMs: LIMIT_MS,
        mostKept: MAX_CACHED,
        mostAsked: MAX_PENDING,
      },
      ttlMsOf: () => options.cacheTtlMs ?? CACHE_TTL_MS,
      isGood: ({ user }) => user !== undefined,
      late: () => new Error(`the API server did not answer within ${LIMIT_MS / 1_000}s whose token it is`),
    });
  }

  /** How many answers there are, and how many are being asked for. */
  get stats(): CachedAnswersStats {
    return this.#answers.stats;
  }

  /**
   * Undefined for a token that nobody has. `from`: where it was shown, for a fair share of questions. Rejects when the API server
   * could not be asked, or did not say; with a BusyError when it is asked too much already.
   */
  async authenticate(token: string, signal: AbortSignal, from = ''): Promise<ClusterUser | undefined> {
    if (token.length > MAX_TOKEN_LENGTH) return undefined;
    const key = createHmac('sha256', this.#key).update(token).digest('base64');
    const ask = async (inner: AbortSignal, wasGood: boolean) => ({
      user: await this.#ask(token, wasGood, inner),
    });
    return (await this.#answers.get(key, ask, signal, from)).user;
  }

  async #ask(token: string, isUrgent: boolean, signal: AbortSignal): Promise<ClusterUser | undefined> {
    const { audiences = [] } = this.#options;
    const body = {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview' },
      spec: { token, ...(audiences.length > 0 ? { audiences } : {}) },
    };
    const request = { kind: 'authn', path: PATH, body, timeoutMs: LIMIT_MS, isUrgent } as const;
    const status = await postReview(this.#options, request, signal);
    if (status['authenticated'] !== true) return undefined;
    // An API server that says nothing of audiences has not looked at them.
    const meantFor = readStrings(status['audiences']);
    if (audiences.length > 0 && !audiences.some((each) => meantFor.includes(each))) return undefined;
    const user = readUser(status['user']);
    return user.name === '' ? undefined : user;
  }
}
