import { type PodLifecycleEvent } from '#watch';

/** What has happened to one pod since its events were last taken. */
export interface PodEvents {
  readonly uid: string;
  /** Oldest first; only the newest if there were too many. */
  readonly events: readonly PodLifecycleEvent[];
  /** Containers that died under this agent, the newest last; without sandboxes. */
  readonly diedContainerIds: readonly string[];
}

interface Waiting {
  readonly events: PodLifecycleEvent[];
  readonly diedContainerIds: string[];
}

/** Limit of buffered events for one pod: one event has the same effect as a hundred. */
const MAX_PER_POD = 64;

/**
 * Lifecycle events on their way to the sync loop, folded per pod.
 *
 * It accepts every event at once, so that no publisher waits for the loop. It buffers at most `podCapacity`
 * pods; beyond that, events fold into one request to sync every pod.
 */
export class SyncLoopEvents {
  readonly #podCapacity: number;
  readonly #byUid = new Map<string, Waiting>();
  #needsResync = false;
  #folded = 0;

  constructor(options: { podCapacity: number }) {
    this.#podCapacity = options.podCapacity;
  }

  /** Pods with buffered events. */
  get size(): number {
    return this.#byUid.size;
  }

  /** Events that were folded into the request to sync every pod. */
  get folded(): number {
    return this.#folded;
  }

  /** Adds an event; never waits and never refuses. */
  push(event: PodLifecycleEvent): void {
    if (event.type === 'Resync') {
      this.#needsResync = true;
      return;
    }
    const { uid } = event.pod;
    let waiting = this.#byUid.get(uid);
    if (waiting === undefined) {
      if (this.#byUid.size >= this.#podCapacity) {
        this.#needsResync = true;
        this.#folded++;
        return;
      }
      waiting = { events: [], diedContainerIds: [] };
      this.#byUid.set(uid, waiting);
    }
    if (!keep(waiting.events, event)) this.#folded++;
    // The first relist may find hundreds of dead containers, and a full node that comes back has more urgent
    // work.
    if (event.type === 'ContainerDied' && event.kind === 'container' && event.trigger !== 'initial') {
      keep(waiting.diedContainerIds, event.containerId);
    }
  }

  /** Removes and returns the pod that has waited longest. */
  takePod(): PodEvents | undefined {
    for (const [uid, waiting] of this.#byUid) {
      this.#byUid.delete(uid);
      return { uid, ...waiting };
    }
    return undefined;
  }

  /**
   * Whether every pod has to be synced; resets the request. To be called after the buffered pods, as it is
   * newer.
   */
  takeResync(): boolean {
    const needsResync = this.#needsResync && this.#byUid.size === 0;
    if (needsResync) this.#needsResync = false;
    return needsResync;
  }
}

/** Appends newer events of a pod to older ones, within the same limit. Pure. */
export function foldPodEvents({ uid, ...one }: PodEvents, next: PodEvents): PodEvents {
  return {
    uid,
    events: [...one.events, ...next.events].slice(-MAX_PER_POD),
    diedContainerIds: [...one.diedContainerIds, ...next.diedContainerIds].slice(-MAX_PER_POD),
  };
}

/** False when the oldest item was dropped for it. */
function keep<T>(list: T[], item: T): boolean {
  list.push(item);
  if (list.length <= MAX_PER_POD) return true;
  list.shift();
  return false;
}
