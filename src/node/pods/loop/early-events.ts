import { foldPodEvents, type PodEvents } from './sync-loop-events.js';

/**
 * Events of pods that nobody wants while not all sources were read: an agent that comes to a node full of pods sees
 * their containers before it has read their manifests.
 *
 * Per pod the newest are kept. Of more than `podCapacity` pods none are: the pods are synced with the newest state in any
 * case, once they are wanted, and only the lines about what happened before are missing then. What there was no room for is
 * counted.
 */
export class EarlyEvents {
  readonly #podCapacity: number;
  readonly #byUid = new Map<string, PodEvents>();
  #folded = 0;

  constructor(options: { podCapacity: number }) {
    this.#podCapacity = options.podCapacity;
  }

  /** Pods with events that wait. */
  get size(): number {
    return this.#byUid.size;
  }

  /** Events that there was no room for. */
  get folded(): number {
    return this.#folded;
  }

  /** False when there is no room for it. */
  keep(happened: PodEvents): boolean {
    const { uid } = happened;
    const before = this.#byUid.get(uid);
    if (before === undefined && this.#byUid.size >= this.#podCapacity) {
      this.#folded += happened.events.length;
      return false;
    }
    const all = before === undefined ? happened : foldPodEvents(before, happened);
    this.#folded += (before?.events.length ?? 0) + happened.events.length - all.events.length;
    this.#byUid.set(uid, all);
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
