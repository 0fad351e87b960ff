/**
 * The Secrets and ConfigMaps that pods of this node refer to, as an API server has them.
 *
 * In: pods, as they are worked on. Out: what they refer to, found at once, and word of what changed. It assumes that a node may
 * see only the objects that its pods name, one at a time, so that there is a watch for each of them.
 *
 * What stands in volumes is followed for as long as a pod uses it; what is only read when a container starts is followed for
 * a few minutes after that. Immutable objects are read once for each pod that comes, and pods that are there keep what they have
 * of one that was made anew. There is a bound to watches: above it, objects rest, and
 * are read again when they are wanted.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/node/
 * @module
 */
import {
  type ConfigMap,
  type ConfigObject,
  type PodObjects,
  type Secret,
} from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodReference, podReferences } from '#kube/pod/pod-references.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type ConfigObjectId } from './read-kube-config-object.js';
import { WatchedObject } from './watched-object.js';

/** What {@link ReferencedObjects} works with. */
export interface ReferencedObjectsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Before any pod can put its values anywhere. */
  readonly onSecret: (secret: Secret) => void;
  /** An object says something else now, or is there, or gone; these pods refer to it, and do not know yet. */
  readonly onChanged: (podUids: readonly string[]) => void;
  /** How many objects are followed at the same time (default: 1000). */
  readonly maxWatches?: number;
}

/** What {@link ReferencedObjects} has in hand. */
export interface ReferencedObjectsStats {
  readonly objects: number;
  readonly watches: number;
  /** Times that an object could not be followed because too many were. */
  readonly unfollowed: number;
}

interface Referenced {
  readonly id: ConfigObjectId;
  readonly watched: WatchedObject;
  /** Pods, each with whether its volumes are made of it. */
  readonly users: Map<string, boolean>;
  /** Of pods that came before others, what was immutable then: theirs, whatever is there under that name by now. */
  readonly kept: Map<string, ConfigObject>;
  usedAtMs: number;
}

const MAX_WATCHES = 1_000;
/** How long a pod is held up by an object of which nothing is known. The sync that waits is ended by its signal. */
const FIRST_LIMIT_MS = 10_000;
/** The same when it is known how it was: better an old value than none. */
const AGAIN_LIMIT_MS = 1_000;
/** As long without a use, and what no volume is made of rests. */
const IDLE_MS = 5 * 60_000;
const SWEEP_MS = 60_000;
const WORDS = { ConfigMap: 'configmap', Secret: 'secret' } as const;

/** See the module. */
export class ReferencedObjects implements PodObjects {
  readonly #options: ReferencedObjectsOptions;
  readonly #maxWatches: number;
  readonly #objects = new Map<string, Referenced>();
  /** By uid, the version of the pod whose references are counted, and their keys. */
  readonly #pods = new Map<string, { readonly pod: NodePod; readonly keys: ReadonlySet<string> }>();
  readonly #closing = new AbortController();
  #unfollowed = 0;

  constructor(options: ReferencedObjectsOptions) {
    this.#options = options;
    this.#maxWatches = options.maxWatches ?? MAX_WATCHES;
  }

  /** As of now. */
  get stats(): ReferencedObjectsStats {
    const objects = [...this.#objects.values()];
    const watches = objects.filter(({ watched }) => watched.isFollowed).length;
    return { objects: objects.length, watches, unfollowed: this.#unfollowed };
  }

  /** Lets watches rest that nobody needs, until the signal aborts; then all of them end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(SWEEP_MS, signal).catch(() => undefined);
      for (const object of this.#objects.values()) if (this.#isIdle(object)) object.watched.rest();
    }
    this.#closing.abort();
  }

  /** The API server is there: no watch need wait any longer. */
  retryNow(): void {
    for (const { watched } of this.#objects.values()) watched.retryNow();
  }

  /** The API server was restored: what watches have reported may not exist any more. */
  listAgain(): void {
    for (const { watched } of this.#objects.values()) watched.listAgain();
  }

  /**
   * Has some of what the pod refers to looked up. Resolves when all of it is known, or when nothing came for a while: then
   * whoever asks for it is told. Rejects with the signal's reason.
   */
  async fetch(pod: NodePod, references: readonly PodReference[], signal: AbortSignal): Promise<void> {
    this.#register(pod);
    const wanted = new Set(references.map((reference) => keyOf(idOf(pod, reference))));
    const { uid } = pod.metadata;
    await Promise.all([...wanted].map((key) => this.#fetchOne(this.#objects.get(key), uid, signal)));
  }

  /** Throws an Error, in the kubelet's words, while nothing is known of it. */
  findConfigMap(pod: NodePod, name: string): ConfigMap | undefined {
    const found = this.#find(pod, 'ConfigMap', name);
    return found?.kind === 'ConfigMap' ? found : undefined;
  }

  /** As {@link findConfigMap}. */
  findSecret(pod: NodePod, name: string): Secret | undefined {
    const found = this.#find(pod, 'Secret', name);
    return found?.kind === 'Secret' ? found : undefined;
  }

  /** The pod is gone, and uses nothing any more. */
  forget(podUid: string): void {
    const { keys } = this.#pods.get(podUid) ?? { keys: new Set<string>() };
    this.#pods.delete(podUid);
    for (const key of keys) this.#release(key, podUid);
  }

  /** The uids of pods that are counted as users. */
  podUids(): string[] {
    return [...this.#pods.keys()];
  }

  #register(pod: NodePod): void {
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    if (known?.pod === pod) return;
    const uses = new Map<string, { readonly id: ConfigObjectId; readonly isMounted: boolean }>();
    for (const reference of podReferences(pod)) {
      const id = idOf(pod, reference);
      const isMounted = reference.path[1] === 'volumes' || uses.get(keyOf(id))?.isMounted === true;
      uses.set(keyOf(id), { id, isMounted });
    }
    for (const [key, { id, isMounted }] of uses) {
      const object = this.#hold(key, id);
      if (!object.users.has(uid)) doubtIfImmutable(object);
      object.users.set(uid, isMounted);
    }
    for (const key of known?.keys ?? []) if (!uses.has(key)) this.#release(key, uid);
    this.#pods.set(uid, { pod, keys: new Set(uses.keys()) });
  }

  #hold(key: string, id: ConfigObjectId): Referenced {
    const known = this.#objects.get(key);
    if (known !== undefined) return known;
    const { client, clock, logger, onSecret, onChanged } = this.#options;
    const users = new Map<string, boolean>();
    const kept = new Map<string, ConfigObject>();
    const watched = new WatchedObject({
      ...{ client, clock, logger, id },
      onChanged: (object, waiting) => {
        if (object?.kind === 'Secret') onSecret(object);
        // One that has waited in vain goes by its own next try otherwise, however many others still wait.
        const others = [...users.keys()].filter((uid) => !waiting.has(uid) && !kept.has(uid));
        if (others.length > 0) onChanged(others);
      },
    });
    const made = { id, watched, users, kept, usedAtMs: clock.monotonicMs() };
    this.#objects.set(key, made);
    return made;
  }

  #release(key: string, podUid: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    object.users.delete(podUid);
    object.kept.delete(podUid);
    if (object.users.size > 0) return;
    object.watched.rest();
    this.#objects.delete(key);
  }

  async #fetchOne(object: Referenced | undefined, podUid: string, signal: AbortSignal): Promise<void> {
    if (object === undefined) return;
    const { watched, kept } = object;
    object.usedAtMs = this.#options.clock.monotonicMs();
    if (watched.isCurrent || kept.has(podUid)) return;
    if (!watched.isFollowed) {
      this.#makeRoom();
      watched.follow(this.#closing.signal);
    }
    await watched.wait(podUid, watched.isKnown ? AGAIN_LIMIT_MS : FIRST_LIMIT_MS, signal);
  }

  /** The one that was used longest ago rests for another. */
  #makeRoom(): void {
    const followed = [...this.#objects.values()].filter(({ watched }) => watched.isFollowed);
    if (followed.length < this.#maxWatches) return;
    this.#unfollowed++;
    const [oldest] = followed.sort((one, other) => one.usedAtMs - other.usedAtMs);
    oldest?.watched.rest();
  }

  #isIdle({ users, usedAtMs }: Referenced): boolean {
    const isMounted = [...users.values()].some(Boolean);
    return !isMounted && this.#options.clock.monotonicMs() - usedAtMs > IDLE_MS;
  }

  #find(pod: NodePod, kind: ConfigObject['kind'], name: string): ConfigObject | undefined {
    const object = this.#objects.get(keyOf({ kind, namespace: pod.metadata.namespace, name }));
    if (object?.watched.isKnown !== true) {
      throw new Error(`failed to sync ${WORDS[kind]} cache: timed out waiting for the condition`);
    }
    return object.kept.get(pod.metadata.uid) ?? object.watched.value;
  }
}

/** For a pod that comes: it may have been made for what is there by now. One that is being looked up already is not looked up twice. */
function doubtIfImmutable({ watched, users, kept }: Referenced): void {
  const { value } = watched;
  if (value?.immutable !== true || !watched.isCurrent) return;
  for (const uid of users.keys()) if (!kept.has(uid)) kept.set(uid, value);
  watched.doubt();
}

function idOf({ metadata }: NodePod, { kind, name }: PodReference): ConfigObjectId {
  return { kind, namespace: metadata.namespace, name };
}

function keyOf({ kind, namespace, name }: ConfigObjectId): string {
  return `${kind} ${namespace}/${name}`;
}
