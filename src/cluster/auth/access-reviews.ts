import { type Publisher } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import { type KubeClient } from '../client/kube-client.js';
import { CachedAnswers, type CachedAnswersStats } from './cached-answers.js';
import { postReview } from './post-review.js';
import { type ClusterUser } from './read-user.js';

/** What {@link AccessReviews} work with. */
export interface AccessReviewsOptions extends Publisher {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  /** Whose resource `nodes` is asked about. */
  readonly nodeName: string;
  /** authorization.webhook.cacheAuthorizedTTL, in milliseconds (default: 5 min). */
  readonly authorizedTtlMs?: number;
  /** authorization.webhook.cacheUnauthorizedTTL, in milliseconds (default: 30 s). */
  readonly unauthorizedTtlMs?: number;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** What somebody wants to do with the node. */
export interface NodeAccess {
  /** `get`, `create`, `update`, `patch` or `delete`. */
  readonly verb: string;
  /** `stats`, `metrics`, `proxy` … */
  readonly subresource: string;
}

const PATH = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const AUTHORIZED_TTL_MS = 300_000;
const UNAUTHORIZED_TTL_MS = 30_000;
const REQUEST_MS = 10_000;
/** For all tries. */
const LIMIT_MS = 30_000;
const MAX_CACHED = 8_192;
const MAX_PENDING = 64;
/** As an API server's own: what somebody has made so long is not kept. */
const MAX_KEY_LENGTH = 10_000;

/**
 * Who may do what with this node, as the API server says; kept for a while.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/#kubelet-authorization
 */
export class AccessReviews {
  readonly #options: AccessReviewsOptions;
  readonly #answers: CachedAnswers<{ readonly isAllowed: boolean; readonly isKept: boolean }>;

  constructor(options: AccessReviewsOptions) {
    this.#options = options;
    const { authorizedTtlMs = AUTHORIZED_TTL_MS, unauthorizedTtlMs = UNAUTHORIZED_TTL_MS } = options;
    this.#answers = new CachedAnswers({
      kind: 'authz',
      ...{
        channels: options.channels,
        clock: options.clock,
        limitMs: LIMIT_MS,
        mostKept: MAX_CACHED,
        mostAsked: MAX_PENDING,
      },
      ttlMsOf: ({ isAllowed, isKept }) => (!isKept ? 0 : isAllowed ? authorizedTtlMs : unauthorizedTtlMs),
      isGood: ({ isAllowed }) => isAllowed,
      late: () => new Error(`the API server did not answer within ${LIMIT_MS / 1_000}s who may do what`),
    });
  }

  /** How many answers there are, and how many are being asked for. */
  get stats(): CachedAnswersStats {
    return this.#answers.stats;
  }

  /** Whether he may. Rejects when the API server could not be asked, or could not say; with a BusyError when it is asked too much. */
  async authorize(user: ClusterUser, access: NodeAccess, signal: AbortSignal): Promise<boolean> {
    const { name, uid, groups, extra } = user;
    const spec = {
      user: name,
      ...(uid === undefined ? {} : { uid }),
      groups,
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes: {
        ...{ group: '', version: 'v1', resource: 'nodes', name: this.#options.nodeName },
        ...{ verb: access.verb, subresource: access.subresource },
      },
    };
    const key = JSON.stringify(spec);
    const isKept = key.length <= MAX_KEY_LENGTH;
    const ask = async (inner: AbortSignal, wasGood: boolean) => ({
      isAllowed: await this.#ask(spec, wasGood, inner),
      isKept,
    });
    return (await this.#answers.get(key, ask, signal, name)).isAllowed;
  }

  async #ask(spec: object, isUrgent: boolean, signal: AbortSignal): Promise<boolean> {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const request = { kind: 'authz', path: PATH, body, timeoutMs: REQUEST_MS, isUrgent } as const;
    const status = await postReview(this.#options, request, signal);
    const { allowed, denied } = status;
    if (typeof allowed !== 'boolean') throw new Error('the answer to a SubjectAccessReview says nothing');
    return allowed && denied !== true;
  }
}
