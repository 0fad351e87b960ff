import { type ConfigObjects } from '../desired/config-objects.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type SecretHider } from '#kube/objects/secret-hider.js';
import { type CleanupView, type PodCleaner } from '../pods/loop/housekeeping.js';
import { type Clock } from '#base/time/clock.js';

/** What {@link SecretsCleaner} works with. */
export interface SecretsCleanerOptions {
  readonly secrets: Pick<SecretHider, 'namespaces' | 'forgetNamespace'>;
  /** A pod that is wanted, or of which something may run. */
  readonly findPod: (uid: string) => Pick<NodePod, 'metadata'> | undefined;
  /** What manifests say, whether or not a pod refers to it: it is learnt once, when it comes. */
  readonly manifests: Pick<ConfigObjects, 'all'>;
  readonly clock: Clock;
}

/** What was said of a pod is told for a while after it: the history counts repeats for a minute, and probes may be under way. */
const KEPT_MS = 10 * 60_000;

/**
 * Forgets the values of Secrets of namespaces that this node has nothing of any more: no pod, and no Secret in a manifest.
 *
 * Asked after whoever forgets what pods of an API server refer to: of a pod that comes later all of it is read, and
 * learnt, anew.
 */
export class SecretsCleaner implements PodCleaner {
  readonly name = 'values of Secrets';
  readonly #options: SecretsCleanerOptions;
  /** Namespaces of which there is nothing, each with since when, in monotonic milliseconds. */
  readonly #unusedSince = new Map<string, number>();

  constructor(options: SecretsCleanerOptions) {
    this.#options = options;
  }

  cleanUp(view: CleanupView): void {
    const { secrets, clock } = this.#options;
    const { namespaces } = secrets;
    const used = namespaces.length === 0 ? undefined : this.#findUsed(view);
    if (used === undefined) return;
    const nowMs = clock.monotonicMs();
    for (const namespace of namespaces) {
      const sinceMs = this.#unusedSince.get(namespace) ?? nowMs;
      this.#unusedSince.delete(namespace);
      if (used.has(namespace)) continue;
      if (nowMs - sinceMs >= KEPT_MS) secrets.forgetNamespace(namespace);
      else this.#unusedSince.set(namespace, sinceMs);
    }
  }

  /** Undefined while there is a pod of which it is not known where it belongs. */
  #findUsed({ desiredUids, possiblyRunningUids }: CleanupView): Set<string> | undefined {
    const { findPod, manifests } = this.#options;
    const used = new Set<string>();
    for (const uid of [...desiredUids, ...possiblyRunningUids]) {
      const pod = findPod(uid);
      if (pod === undefined) return undefined;
      used.add(pod.metadata.namespace);
    }
    for (const { object } of manifests.all()) {
      if (object.kind === 'Secret') used.add(object.metadata.namespace);
    }
    return used;
  }
}
