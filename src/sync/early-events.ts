import { foldPodEvents, type PodEvents } from './sync-loop-events.js';

/**
 * Events of pods that nobody wants while not all sources were read: an agent that comes to a node full of pods sees
 * their containers before it has read their manifests.
 *
 * Per pod the newest are kept. Of more than `podCapacity` pods none are: the pods are synced with the newest state in any
 * case, once they are wanted, and only the lines about what happened before are missing then.
 */
export class EarlyEvents {
  readonly #podCapacity: number;
  readonly #byUid = new Map<string, PodEvents>();

  constructor(options: { podCapacity: number }) {
    this.#podCapacity = options.podCapacity;
  }

  /** False when there is no room for it. */
  keep(happened: PodEvents): boolean {
    const { uid } = happened;
    const before = this.#byUid.get(uid);
    if (before === undefined && this.#byUid.size >= this.#podCapacity) return false;
    this.#byUid.set(uid, before === undefined ? happened : foldPodEvents(before, happened));
    return true;
  }

  /** Takes what happened to a pod. */
  take(uid: string): PodEvents | undefined {
    const happened = this.#byUid.get(uid);
    this.#byUid.delete(uid);
    return happened;
  }

  /** Takes what happened to the pod that has waited longest. */
  takeAny(): PodEvents | undefined {
    for (const uid of this.#byUid.keys()) return this.take(uid);
    return undefined;
  }
}
