import { type ConfigObjects } from '../desired/config-objects.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type SecretHider } from '#kube/objects/secret-hider.js';
import { type CleanupView, type PodCleaner } from '../pods/loop/housekeeping.js';
import { type Clock } from '#base/time/clock.js';

/** Options of {@link SecretsCleaner}. */
export interface SecretsCleanerOptions {
  readonly secrets: Pick<SecretHider, 'namespaces' | 'forgetNamespace'>;
  /** Finds a pod that is wanted, or of which something may run. */
  readonly findPod: (uid: string) => Pick<NodePod, 'metadata'> | undefined;
  /**
   * The objects in manifests, whether or not a pod refers to them: their values are learnt once, when they
   * come.
   */
  readonly manifests: Pick<ConfigObjects, 'all'>;
  readonly clock: Clock;
}

/**
 * Values stay hidden for a while after their pod: the history counts repeats for a minute, and probes may be
 * under way.
 */
const KEPT_MS = 10 * 60_000;

/**
 * Forgets the secret values of namespaces without a pod on this node and without a Secret in a manifest.
 *
 * Runs after the cleaner of objects that pods of an API server refer to: everything about a later pod is read
 * and learnt again.
 */
export class SecretsCleaner implements PodCleaner {
  readonly name = 'values of Secrets';
  readonly #options: SecretsCleanerOptions;
  /** Unused namespaces, each with since when, in monotonic milliseconds. */
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

  /** Undefined while there is a pod whose namespace is unknown. */
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
