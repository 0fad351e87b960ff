import { type PodCache, type PodLifecycleEvent } from '#watch';

/** What was last reported about a container. */
export type Told = 'running' | 'exited' | 'gone';

/**
 * What a subscriber believes of every container, from events alone; where it is told to look again, it looks at
 * the cache, as a subscriber would.
 */
export class Believer {
  /** By pod and container; what is gone stays, as gone. */
  readonly believed = new Map<string, Map<string, Told>>();
  readonly #cache: PodCache;
  /** Pods that were unknown when they were to be read again. */
  readonly #unknown = new Set<string>();

  constructor(cache: PodCache) {
    this.#cache = cache;
  }

  /** Takes in one event. */
  hear(event: PodLifecycleEvent): void {
    if ('pod' in event && this.#unknown.has(event.pod.uid)) this.#lookAt(event.pod.uid);
    switch (event.type) {
      case 'ContainerStarted':
      case 'ContainerDied':
      case 'ContainerRemoved':
      case 'ContainerChanged': {
        const told = {
          ContainerStarted: 'running',
          ContainerDied: 'exited',
          ContainerRemoved: 'gone',
        } as const;
        if (event.type !== 'ContainerChanged')
          this.#of(event.pod.uid).set(event.containerId, told[event.type]);
        break;
      }
      case 'PodSync':
        this.#lookAt(event.pod.uid);
        break;
      case 'Resync':
        for (const uid of new Set([...this.believed.keys(), ...this.#cache.uids()])) this.#lookAt(uid);
        break;
      case 'ConditionMet':
        break;
    }
  }

  #of(uid: string): Map<string, Told> {
    let pod = this.believed.get(uid);
    if (pod === undefined) this.believed.set(uid, (pod = new Map<string, Told>()));
    return pod;
  }

  #lookAt(uid: string): void {
    const { status, error } = this.#cache.get(uid);
    // Nothing is known then; another event follows once the pod answers.
    if (error !== undefined) {
      this.#unknown.add(uid);
      return;
    }
    this.#unknown.delete(uid);
    const pod = this.#of(uid);
    const seen = new Set<string>();
    for (const { id, state } of [...status.containers, ...status.sandboxes]) {
      seen.add(id);
      if (state === 'running' || state === 'exited') pod.set(id, state);
    }
    for (const id of pod.keys()) if (!seen.has(id)) pod.set(id, 'gone');
  }
}
