import { type PodLifecycleEvent } from '#watch';

/** What has happened to one pod since it was last taken. */
export interface PodEvents {
  readonly uid: string;
  /** Oldest first; when there were too many, the newest of them. */
  readonly events: readonly PodLifecycleEvent[];
  /** Containers that died under this agent, the newest last; sandboxes are none. */
  readonly diedContainerIds: readonly string[];
}

interface Waiting {
  readonly events: PodLifecycleEvent[];
  readonly diedContainerIds: string[];
}

/** Of one pod no more is kept than this: what follows from events is the same for one and for a hundred. */
const MOST_PER_POD = 64;

/**
 * Lifecycle events on their way to the sync loop, folded per pod.
 *
 * It takes in everything at once, so that nobody ever waits for the loop. What waits is bounded by the number of pods:
 * past `podCapacity` of them, events fold into one "look at every pod again".
 */
export class SyncLoopEvents {
  readonly #podCapacity: number;
  readonly #byUid = new Map<string, Waiting>();
  #needsResync = false;
  #folded = 0;

  constructor(options: { podCapacity: number }) {
    this.#podCapacity = options.podCapacity;
  }

  /** Pods with events that wait. */
  get size(): number {
    return this.#byUid.size;
  }

  /** Events of which nothing is left but that something happened. */
  get folded(): number {
    return this.#folded;
  }

  /** Takes an event in; never waits, never refuses. */
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
    // What the first look finds dead may be hundreds, and a full node that comes back has other things to do.
    if (event.type === 'ContainerDied' && event.kind === 'container' && event.trigger !== 'initial') {
      keep(waiting.diedContainerIds, event.containerId);
    }
  }

  /** Takes the pod that has waited longest. */
  takePod(): PodEvents | undefined {
    for (const [uid, waiting] of this.#byUid) {
      this.#byUid.delete(uid);
      return { uid, ...waiting };
    }
    return undefined;
  }

  /** Whether every pod is to be looked at again; asks once. Only after the pods that wait, as it came after them. */
  takeResync(): boolean {
    const needsResync = this.#needsResync && this.#byUid.size === 0;
    if (needsResync) this.#needsResync = false;
    return needsResync;
  }
}

/** Puts the last things that happened behind those before them; of one pod no more is kept than elsewhere. Pure. */
export function foldPodEvents({ uid, ...one }: PodEvents, next: PodEvents): PodEvents {
  return {
    uid,
    events: [...one.events, ...next.events].slice(-MOST_PER_POD),
    diedContainerIds: [...one.diedContainerIds, ...next.diedContainerIds].slice(-MOST_PER_POD),
  };
}

/** False when the oldest had to go for it. */
function keep<T>(list: T[], item: T): boolean {
  list.push(item);
  if (list.length <= MOST_PER_POD) return true;
  list.shift();
  return false;
}
