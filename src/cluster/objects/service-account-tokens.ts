import { SingleFlight } from '#base/async/single-flight.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ServiceAccountTokenProjection } from '#kube/pod/volume.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { isAnswer, type KubeClient } from '../client/kube-client.js';

/** What {@link ServiceAccountTokens} works with. */
export interface ServiceAccountTokensOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Hears each token, with the namespace of its pod, before anybody is given it. */
  readonly onToken: (token: string, namespace: string) => void;
  /** Such a token is given out to nobody any more, and has ended. */
  readonly onTokenEnded: (token: string, namespace: string) => void;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** Which token of a pod's service account. */
export type TokenRequestSpec = Pick<ServiceAccountTokenProjection, 'audience' | 'expirationSeconds'>;

/** As much of a v1 TokenRequest as is read. */
interface KubeTokenRequest {
  readonly spec?: { readonly expirationSeconds?: unknown };
  readonly status?: { readonly token?: unknown; readonly expirationTimestamp?: unknown };
}

/** A pod's service account, as the API server has it. */
export interface ServiceAccountFacts {
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** As much of a v1 ServiceAccount as is read. */
interface KubeServiceAccount {
  readonly metadata?: { readonly uid?: string; readonly annotations?: Readonly<Record<string, string>> };
}

interface KeptToken {
  readonly token: string;
  readonly namespace: string;
  /** Its successor could not be had lately: until then, of the monotonic clock, nobody asks for it. */
  renewalRestsUntilMs: number;
  /** When a new one is asked for, and until when this one is good, each by both clocks: machines sleep, and clocks are set. */
  readonly renewAt: Moment;
  readonly endsAt: Moment;
}

interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

const DEFAULT_SECONDS = 3_600;
/** As a kubelet: a new token when a fifth of its life is left, or after a day, and up to 10 s sooner. */
const RENEWED_SHARE = 0.8;
const MAX_USE_MS = 24 * 3_600_000;
const JITTER_MS = 10_000;
const REQUEST_MS = 10_000;
/** How long a sync waits for a token while the one before is good, and for how long none does after it waited in vain. */
const RENEWAL_PATIENCE_MS = 1_000;
const RENEWAL_REST_MS = 10_000;
/** The API server may not have heard yet that the pod is on this node. */
const RETRIES_MS = [100, 400] as const;

/**
 * Tokens of service accounts, each bound to a pod, so that it ends with it.
 *
 * One of each kind is kept for a pod and given out until it is time for another. When that cannot be had, the one that is kept
 * goes on being given out until it ends, and who asks hardly waits: no pod is held up by an API server that is away.
 *
 * @see https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken
 */
export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokensOptions;
  readonly #random: () => number;
  readonly #kept = new Map<string, Map<string, KeptToken>>();
  /** Given out to nobody any more; who was given them may have them until they end. */
  readonly #former = new Set<KeptToken>();
  /** Under way: who asks for the same gets the same. */
  readonly #flights = new SingleFlight<KeptToken>();

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** How many tokens are kept. */
  get size(): number {
    return [...this.#kept.values()].reduce((sum, tokens) => sum + tokens.size, 0);
  }

  /** A token that is good now. Rejects, in the kubelet's words, when there is none. */
  async get(pod: NodePod, spec: TokenRequestSpec): Promise<string> {
    const key = JSON.stringify([
      accountOf(pod),
      spec.audience ?? '',
      spec.expirationSeconds ?? DEFAULT_SECONDS,
    ]);
    const kept = this.#kept.get(pod.metadata.uid)?.get(key);
    if (kept === undefined || this.#isPast(kept.endsAt)) return (await this.#ask(key, pod, spec)).token;
    return this.#isPast(kept.renewAt) ? this.#renew(kept, key, pod, spec) : kept.token;
  }

  /** The pod's service account as of now. Rejects where there is none, or it cannot be read. */
  async getAccount(pod: NodePod): Promise<ServiceAccountFacts> {
    const { client } = this.#options;
    const answer = await client.request<KubeServiceAccount | undefined>({
      ...{ method: 'GET', path: pathOf(pod), timeoutMs: REQUEST_MS, isUrgent: true },
    });
    const { uid = '', annotations = {} } = answer?.metadata ?? {};
    return { uid, annotations };
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    for (const token of this.#kept.get(podUid)?.values() ?? []) this.#former.add(token);
    this.#kept.delete(podUid);
  }

  /** Reports which of the unused tokens have expired. */
  forgetEnded(): void {
    for (const former of this.#former) {
      if (!this.#isPast(former.endsAt)) continue;
      this.#former.delete(former);
      this.#options.onTokenEnded(former.token, former.namespace);
    }
  }

  /** The uids of pods that tokens are kept for. */
  podUids(): string[] {
    return [...this.#kept.keys()];
  }

  #keep(podUid: string, key: string, fresh: KeptToken): KeptToken {
    const tokens = this.#kept.get(podUid) ?? new Map<string, KeptToken>();
    const before = tokens.get(key);
    if (before !== undefined) this.#former.add(before);
    this.#kept.set(podUid, tokens.set(key, fresh));
    return fresh;
  }

  #isPast({ wallMs, monotonicMs }: Moment): boolean {
    const { clock } = this.#options;
    return clock.now() >= wallMs || clock.monotonicMs() >= monotonicMs;
  }

  /** The successor of a token where that comes soon, else the one that is good still. */
  async #renew(kept: KeptToken, key: string, pod: NodePod, spec: TokenRequestSpec): Promise<string> {
    const { clock, logger } = this.#options;
    const rest = (): string => {
      kept.renewalRestsUntilMs = clock.monotonicMs() + RENEWAL_REST_MS;
      return kept.token;
    };
    if (clock.monotonicMs() < kept.renewalRestsUntilMs) return kept.token;
    const next = this.#ask(key, pod, spec).then(
      ({ token }) => token,
      (error: unknown) => {
        logger.warn('Could not update token', { pod: pod.metadata, err: messageOf(error) });
        return rest();
      },
    );
    return (await settlesWithin(next, RENEWAL_PATIENCE_MS, clock)) ? next : rest();
  }

  /** Asks for a token and keeps it. */
  async #ask(key: string, pod: NodePod, spec: TokenRequestSpec): Promise<KeptToken> {
    const { uid } = pod.metadata;
    try {
      const request = async (): Promise<KeptToken> => this.#keep(uid, key, await this.#request(pod, spec));
      return await this.#flights.run(`${uid} ${key}`, request);
    } catch (error) {
      throw new Error(`failed to fetch token: ${messageOf(error)}`, { cause: error });
    }
  }

  async #request(pod: NodePod, spec: TokenRequestSpec): Promise<KeptToken> {
    const { clock } = this.#options;
    for (const delayMs of [...RETRIES_MS, undefined]) {
      try {
        return await this.#requestOnce(pod, spec);
      } catch (error) {
        if (delayMs === undefined || !isAnswer(error, 403)) throw error;
        await clock.sleep(delayMs);
      }
    }
    throw new Error('unreachable');
  }

  async #requestOnce(
    pod: NodePod,
    { audience = '', expirationSeconds = DEFAULT_SECONDS }: TokenRequestSpec,
  ): Promise<KeptToken> {
    const { client, clock, onToken } = this.#options;
    const { name, namespace, uid } = pod.metadata;
    const askedAt = { wallMs: clock.now(), monotonicMs: clock.monotonicMs() };
    const answer = await client.request<KubeTokenRequest | undefined>({
      ...{ method: 'POST', path: `${pathOf(pod)}/token`, timeoutMs: REQUEST_MS, isUrgent: true },
      body: {
        ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
        spec: {
          // None: whom the API server takes for itself.
          ...(audience === '' ? {} : { audiences: [audience] }),
          expirationSeconds,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      },
    });
    const token = answer?.status?.token;
    if (typeof token !== 'string' || token === '') throw new Error('the answer has no token in it');
    onToken(token, namespace);
    const given = answer?.spec?.expirationSeconds;
    const lifeMs = (typeof given === 'number' && given > 0 ? given : expirationSeconds) * 1_000;
    const renewMs = Math.min(RENEWED_SHARE * lifeMs, MAX_USE_MS) - this.#random() * JITTER_MS;
    const times = { renewAt: later(askedAt, renewMs), endsAt: later(askedAt, lifeMs) };
    return { token, namespace, renewalRestsUntilMs: 0, ...times };
  }
}

function pathOf(pod: NodePod): string {
  const [namespace, account] = [pod.metadata.namespace, accountOf(pod)].map(encodeURIComponent);
  return `/api/v1/namespaces/${namespace}/serviceaccounts/${account}`;
}

function accountOf({ spec }: NodePod): string {
  return spec.serviceAccountName ?? 'default';
}

function later({ wallMs, monotonicMs }: Moment, byMs: number): Moment {
  return { wallMs: wallMs + byMs, monotonicMs: monotonicMs + byMs };
}
