/**
 * What pods need from an API server beside themselves: Secrets and ConfigMaps, tokens, services, runtime classes, claims.
 *
 * In: pods of the source `api`, as they are worked on. Out: ports of the parts that work on them, each in the words that a
 * kubelet has when something is missing. Pods of other sources are none of its business; of services alone they
 * are told as well.
 *
 * ```
 * sync ─ fetch ─► watches, one per object ─► volumes, variables, logins of registries
 *                 list and watch of services, runtime classes
 *                 requests for tokens, claims
 * ```
 *
 * @module
 */
import { type ConfigMap, type PodObjects, type Secret } from '#kube/objects/config-object.js';
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { containerReferences, volumeReferences } from '#kube/pod/pod-references.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type ApiNode } from '../node/api-node.js';
import { AwaitedThings } from './awaited-things.js';
import { type FollowedState } from '../watch/reflector.js';
import { ReferencedObjects, type ReferencedObjectsStats } from './referenced-objects.js';
import { RuntimeClasses } from './runtime-classes.js';
import {
  type ServiceAccountFacts,
  ServiceAccountTokens,
  type TokenRequestSpec,
} from './service-account-tokens.js';
import { Services } from './services.js';
import { type ClaimedVolume, VolumeClaims } from './volume-claims.js';

/** Listeners for changes. */
export interface ClusterObjectsListener {
  /** A Secret was read, or a token was made: its values are to be hidden, before any pod can put them anywhere. */
  readonly onSecret: (secret: Secret) => void;
  /** Such values are of no use to anybody any more: a token was replaced, or its pod is gone, and it has ended. */
  readonly onSecretEnded: (secret: Secret) => void;
  /** Something that these pods refer to says something else now. */
  readonly onChanged: (podUids: readonly string[]) => void;
}

/** What {@link ClusterObjects} works with. */
export interface ClusterObjectsOptions extends ClusterObjectsListener {
  readonly client: KubeClient;
  /** The node, with its labels as of now: what pods have claimed may lie on another. */
  readonly node: () => ApiNode;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** See the module. */
export class ClusterObjects implements PodObjects {
  readonly #referenced: ReferencedObjects;
  readonly #tokens: ServiceAccountTokens;
  readonly #services: Services;
  readonly #classes: RuntimeClasses;
  readonly #claims: VolumeClaims;
  readonly #awaited: AwaitedThings;

  constructor(options: ClusterObjectsOptions) {
    const { client, node, clock, logger = SILENT_LOGGER, onSecret, onSecretEnded, onChanged } = options;
    const common = { client, clock, logger };
    this.#referenced = new ReferencedObjects({ ...common, onSecret, onChanged });
    this.#services = new Services(common);
    this.#classes = new RuntimeClasses(common);
    this.#claims = new VolumeClaims({ client, node });
    this.#awaited = new AwaitedThings({ clock, onThere: (uid) => onChanged([uid]) });
    this.#tokens = new ServiceAccountTokens({
      ...common,
      onToken: (token, namespace) => onSecret(secretOf(token, namespace)),
      onTokenEnded: (token, namespace) => onSecretEnded(secretOf(token, namespace)),
    });
  }

  /** Objects that pods refer to, and how many of them are watched. */
  get stats(): ReferencedObjectsStats {
    return this.#referenced.stats;
  }

  /** The collections that are followed as a whole, by name. */
  get collections(): Readonly<Record<'services' | 'runtimeclasses', FollowedState>> {
    return { services: this.#services.state, runtimeclasses: this.#classes.state };
  }

  /** The API server is there: no watch need wait any longer. */
  retryNow(): void {
    for (const part of [this.#referenced, this.#services, this.#classes]) part.retryNow();
  }

  /** The API server was restored: what watches have reported may not exist any more. */
  listAgain(): void {
    for (const part of [this.#referenced, this.#services, this.#classes]) part.listAgain();
  }

  /** Follows what has to be followed until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    const parts = [this.#referenced, this.#services, this.#classes, this.#awaited];
    await Promise.all(parts.map(async (part) => part.run(signal)));
  }

  findConfigMap(pod: NodePod, name: string): ConfigMap | undefined {
    return this.#referenced.findConfigMap(pod, name);
  }

  findSecret(pod: NodePod, name: string): Secret | undefined {
    return this.#referenced.findSecret(pod, name);
  }

  /** Has looked up what the pod's volumes are made of, tokens among it. See {@link ReferencedObjects.fetch}. */
  async fetchForVolumes(pod: NodePod, signal: AbortSignal): Promise<void> {
    if (!isClusterPod(pod)) return;
    // All at the same time; the mount fails with the reason if a token cannot be obtained.
    const tokens = tokensIn(pod).map(async (spec) => this.#tokens.get(pod, spec).catch(() => undefined));
    const objects = this.#referenced.fetch(pod, volumeReferences(pod), signal);
    await Promise.all([objects, abortable(Promise.all(tokens), signal)]);
  }

  /** Has looked up what a container's variables are made of, and what its image is fetched with. */
  async fetchForContainer(pod: NodePod, container: Container, signal: AbortSignal): Promise<void> {
    if (!isClusterPod(pod)) return;
    await Promise.all([
      this.#referenced.fetch(pod, containerReferences(pod, container), signal),
      this.#services.wait(signal),
    ]);
  }

  /** See {@link Services.variablesFor}; a pod of a manifest gets what is known. */
  serviceVariables(pod: NodePod): ReadonlyMap<string, string> {
    try {
      return this.#services.variablesFor(pod);
    } catch (error) {
      if (isClusterPod(pod)) throw error;
      return new Map();
    }
  }

  /** See {@link ServiceAccountTokens.get}. */
  async getToken(pod: NodePod, spec: TokenRequestSpec): Promise<string> {
    const key = JSON.stringify(['token', spec.audience, spec.expirationSeconds]);
    return this.#orAwait(pod, key, async () => this.#tokens.get(pod, spec));
  }

  /** See {@link ServiceAccountTokens.getAccount}. */
  async getServiceAccount(pod: NodePod): Promise<ServiceAccountFacts> {
    return this.#tokens.getAccount(pod);
  }

  /** See {@link VolumeClaims.get}. */
  async getClaimed(pod: NodePod, volume: Volume, signal: AbortSignal): Promise<ClaimedVolume> {
    const key = JSON.stringify(['claim', volume.name]);
    return this.#orAwait(pod, key, async (own = signal) => this.#claims.get(pod, volume, own));
  }

  /** What is missing is polled from then on, and the pod is notified when it appears. */
  async #orAwait<T>(pod: NodePod, key: string, get: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    const { uid } = pod.metadata;
    try {
      const found = await get();
      this.#awaited.found(uid, key);
      return found;
    } catch (error) {
      if (isPassing(error)) this.#awaited.expect(uid, key, async (signal) => isThere(get(signal), signal));
      throw error;
    }
  }

  /** See {@link RuntimeClasses.getHandler}; a manifest names a handler of the runtime itself. */
  async getRuntimeHandler(pod: NodePod, signal: AbortSignal): Promise<string> {
    return isClusterPod(pod) ? this.#classes.getHandler(pod, signal) : (pod.spec.runtimeClassName ?? '');
  }

  /** As {@link getRuntimeHandler} once that has resolved; empty before. */
  findRuntimeHandler(pod: NodePod): string {
    return isClusterPod(pod) ? this.#classes.findHandler(pod) : (pod.spec.runtimeClassName ?? '');
  }

  /** The pod is gone: nothing is followed or kept for it. */
  forget(podUid: string): void {
    for (const part of [this.#referenced, this.#tokens, this.#awaited]) part.forget(podUid);
  }

  /** Forgets all pods but these, and tokens that have ended. */
  keepOnly(podUids: ReadonlySet<string>): void {
    const parts = [this.#referenced, this.#tokens, this.#awaited];
    for (const uid of new Set(parts.flatMap((part) => part.podUids()))) {
      if (!podUids.has(uid)) this.forget(uid);
    }
    this.#tokens.forgetEnded();
  }
}

/** Whether it may be had later: what is of a kind that no pod gets here is not. */
function isPassing(error: unknown): boolean {
  return !(error instanceof PodloopError) && !(error instanceof DOMException);
}

/** Whether it can be had, or cannot ever. Rejects with the signal's reason. */
async function isThere(getting: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  try {
    await getting;
    return true;
  } catch (error) {
    signal.throwIfAborted();
    return !isPassing(error);
  }
}

function tokensIn({ spec }: NodePod): TokenRequestSpec[] {
  const sources = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
}

/** For whoever hides values of Secrets: a token is one, of the namespace of its pod. */
function secretOf(token: string, namespace: string): Secret {
  return {
    ...{ kind: 'Secret', type: 'Opaque', metadata: { name: 'token', namespace } },
    data: new Map([['token', Buffer.from(token)]]),
  };
}
