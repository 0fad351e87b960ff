import { type NodePod } from '#kube/pod/node-pod.js';
import { NodeClaims } from './node-claims.js';

/**
 * The active pods and their total claims, updated one pod at a time.
 *
 * Others know whether a pod is active; they are asked only about pods that were reported as changed.
 */
export class ActivePods {
  readonly #findActive: (uid: string) => NodePod | undefined;
  readonly #claims = new NodeClaims();
  /** Pods that have to be asked about. */
  readonly #changed = new Set<string>();

  /** `findActive`: a pod as it is wanted, if it is active. */
  constructor(options: { readonly findActive: (uid: string) => NodePod | undefined }) {
    this.#findActive = options.findActive;
  }

  /** It may have changed whether the pod is active, or what it claims. */
  changed(uid: string): void {
    this.#changed.add(uid);
  }

  /**
   * The claims of all active pods without this one and `others`: valid now, to be read before anything else
   * happens.
   */
  claimsBeside(uid: string, others: Iterable<string> = []): NodeClaims {
    const without = new Set([uid, ...others]);
    for (const each of without) this.#changed.delete(each);
    for (const each of this.#changed) {
      const pod = this.#findActive(each);
      if (pod === undefined) this.#claims.remove(each);
      else this.#claims.add(pod);
    }
    this.#changed.clear();
    for (const each of without) {
      this.#claims.remove(each);
      this.#changed.add(each);
    }
    return this.#claims;
  }
}
