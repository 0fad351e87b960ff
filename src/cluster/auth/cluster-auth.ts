/**
 * Asks the API server who somebody is and what he may do with this node, for the agent's port with TLS.
 *
 * ```
 * token ──► TokenReview ──► user ──┬──► SubjectAccessReview, for each way to name what is wanted ──► yes or no
 * certificate ─────────────────────┘
 * ```
 *
 * In: tokens, users, verbs and subresources of `nodes`. Out: users, and yes or no. Answers are kept as long as a kubelet
 * keeps them, so an API server that is away is missed only by who is new. Both are bounded in number, shared by those who
 * ask the same at the same time, and have a deadline. Nobody is let in for want of an answer, and who is told that there is no
 * room for his question is told to come again.
 *
 * @module
 */
import { type Publisher } from '#base/channels/publishing-channel.js';
import { type AuthQuestionKind } from '#base/channels/auth-channels.js';
import { type Clock } from '#base/time/clock.js';
import { type KubeClient } from '../client/kube-client.js';
import { AccessReviews, type NodeAccess } from './access-reviews.js';
import { type CachedAnswersStats } from './cached-answers.js';
import { type ClusterUser } from './read-user.js';
import { TokenReviews } from './token-reviews.js';

/** What {@link ClusterAuth} works with. */
export interface ClusterAuthOptions extends Publisher {
  readonly client: Pick<KubeClient, 'request'>;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly settings: ClusterAuthSettings;
}

/** What KubeletConfiguration says of it; a kubelet's defaults where it says nothing. */
export interface ClusterAuthSettings {
  /** authentication.webhook.enabled: tokens are looked up (default: true). */
  readonly areTokensReviewed?: boolean;
  /** authentication.webhook.cacheTTL. */
  readonly tokenTtlMs?: number;
  /** For whom tokens must be meant (default: the API server's own). */
  readonly audiences?: readonly string[];
  /** authorization.mode: whoever has shown who he is may do everything, or as the API server says (default: the latter). */
  readonly mode?: 'AlwaysAllow' | 'Webhook';
  /** authorization.webhook.cacheAuthorizedTTL. */
  readonly authorizedTtlMs?: number;
  /** authorization.webhook.cacheUnauthorizedTTL. */
  readonly unauthorizedTtlMs?: number;
}

/** How {@link ClusterAuth} gets on, by kind of question. */
export type ClusterAuthStats = Readonly<Record<AuthQuestionKind, CachedAnswersStats | undefined>>;

/** The group of those who have not shown who they are. */
const UNAUTHENTICATED = 'system:unauthenticated';

/** See the module. */
export class ClusterAuth {
  readonly #tokens: TokenReviews | undefined;
  readonly #access: AccessReviews | undefined;

  constructor({ client, nodeName, channels, clock, settings }: ClusterAuthOptions) {
    const { areTokensReviewed = true, tokenTtlMs, audiences, mode = 'Webhook' } = settings;
    const { authorizedTtlMs, unauthorizedTtlMs } = settings;
    if (areTokensReviewed) {
      this.#tokens = new TokenReviews({
        ...{ client, channels, clock },
        ...(tokenTtlMs === undefined ? {} : { cacheTtlMs: tokenTtlMs }),
        ...(audiences === undefined ? {} : { audiences }),
      });
    }
    if (mode === 'Webhook') {
      this.#access = new AccessReviews({
        ...{ client, channels, clock, nodeName },
        ...(authorizedTtlMs === undefined ? {} : { authorizedTtlMs }),
        ...(unauthorizedTtlMs === undefined ? {} : { unauthorizedTtlMs }),
      });
    }
  }

  /** Of what is not asked for there is nothing. */
  get stats(): ClusterAuthStats {
    return { authn: this.#tokens?.stats, authz: this.#access?.stats };
  }

  /** Whose token it is that was shown at `from`; undefined when it is nobody's. Rejects when that could not be found out. */
  async authenticate(token: string, signal: AbortSignal, from?: string): Promise<ClusterUser | undefined> {
    return this.#tokens?.authenticate(token, signal, from);
  }

  /** Whether he may do that with the node. Rejects when that could not be found out. */
  async authorize(user: ClusterUser, access: NodeAccess, signal: AbortSignal): Promise<boolean> {
    if (this.#access === undefined) return !user.groups.includes(UNAUTHENTICATED);
    return this.#access.authorize(user, access, signal);
  }
}
