import { type NodePod } from '#kube/pod/node-pod.js';
import { NodeClaims } from './node-claims.js';

/**
 * The pods that are active here and what they claim together, kept up to date one pod at a time: whether a pod is active
 * follows from what others know, and is asked only of those that somebody says have changed.
 */
export class ActivePods {
  readonly #findActive: (uid: string) => NodePod | undefined;
  readonly #claims = new NodeClaims();
  /** Pods of which it is not known whether they are active. */
  readonly #changed = new Set<string>();

  /** `findActive`: a pod as it is wanted, if it is active. */
  constructor(options: { readonly findActive: (uid: string) => NodePod | undefined }) {
    this.#findActive = options.findActive;
  }

  /** Whether the pod is active may be another matter now, or what it claims. */
  changed(uid: string): void {
    this.#changed.add(uid);
  }

  /** What all active pods but this one, and but `others`, claim: as of now, to be read before anything else happens. */
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
