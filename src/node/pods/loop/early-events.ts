import { foldPodEvents, type PodEvents } from './sync-loop-events.js';

/**
 * Events of pods that nobody wants yet, buffered until all sources were read.
 *
 * An agent that starts on a full node sees the containers before it has read the manifests. The newest events
 * of each pod are buffered, for at most `podCapacity` pods; the rest are dropped and counted. A dropped event
 * costs only its log line, as every pod is synced with the newest state once it is wanted.
 */
export class EarlyEvents {
  readonly #podCapacity: number;
  readonly #byUid = new Map<string, PodEvents>();
  #folded = 0;

  constructor(options: { podCapacity: number }) {
    this.#podCapacity = options.podCapacity;
  }

  /** Pods with buffered events. */
  get size(): number {
    return this.#byUid.size;
  }

  /** Events that were dropped for lack of room. */
  get folded(): number {
    return this.#folded;
  }

  /** False when there is no room for the events. */
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

  /** Removes and returns the events of a pod. */
  take(uid: string): PodEvents | undefined {
    const happened = this.#byUid.get(uid);
    this.#byUid.delete(uid);
    return happened;
  }

  /** Removes and returns the events of the pod that has waited longest. */
  takeAny(): PodEvents | undefined {
    for (const uid of this.#byUid.keys()) return this.take(uid);
    return undefined;
  }
}
