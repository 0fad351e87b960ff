import { type PodStatus } from '../observed/runtime.js';

/** Whether what was waited for is true of the pod. Pure and quick; it is asked after each inspection. */
export type PodCondition = (status: PodStatus) => boolean;

interface WatchedCondition {
  readonly condition: PodCondition;
  readonly version: number;
}

/** A condition as it stood when an inspection ended. */
export interface ConditionSnapshot extends WatchedCondition {
  readonly key: string;
}

/**
 * Conditions that somebody waits for, by pod and key.
 *
 * Setting a key again replaces the condition and raises its version. A condition that was replaced while it was
 * being evaluated is not removed: the answer was about the older one.
 */
export class WatchConditions {
  readonly #byPod = new Map<string, Map<string, WatchedCondition>>();

  /** Watches a condition of a pod under a key, in place of what stood there. */
  set(uid: string, key: string, condition: PodCondition): void {
    let conditions = this.#byPod.get(uid);
    if (conditions === undefined) this.#byPod.set(uid, (conditions = new Map<string, WatchedCondition>()));
    const version = (conditions.get(key)?.version ?? -1) + 1;
    conditions.set(key, { condition, version });
  }

  /** Whether anything of the pod is watched: then it is due at each relist. */
  has(uid: string): boolean {
    return this.#byPod.has(uid);
  }

  /** The version that is watched under a key; undefined when none is. */
  version(uid: string, key: string): number | undefined {
    return this.#byPod.get(uid)?.get(key)?.version;
  }

  /** What is watched of a pod now. */
  snapshot(uid: string): ConditionSnapshot[] {
    return [...(this.#byPod.get(uid) ?? [])].map(([key, watched]) => ({ key, ...watched }));
  }

  /** Stops watching a key, if it is still at that version. Returns whether it was. */
  complete(uid: string, { key, version }: ConditionSnapshot): boolean {
    const conditions = this.#byPod.get(uid);
    if (conditions?.get(key)?.version !== version) return false;
    conditions.delete(key);
    if (conditions.size === 0) this.#byPod.delete(uid);
    return true;
  }

  /**
   * Evaluates conditions of a snapshot and completes those that hold. Returns the keys of those that were still at
   * their version. One that throws does not hold: `onThrow` is told.
   */
  completeMet(
    uid: string,
    watched: readonly ConditionSnapshot[],
    status: PodStatus,
    onThrow: (key: string, error: unknown) => void,
  ): string[] {
    const holds = ({ key, condition }: ConditionSnapshot): boolean => {
      try {
        return condition(status);
      } catch (error) {
        onThrow(key, error);
        return false;
      }
    };
    return watched.filter((one) => holds(one) && this.complete(uid, one)).map(({ key }) => key);
  }

  /** Forgets a pod that is gone. */
  forget(uid: string): void {
    this.#byPod.delete(uid);
  }

  /** The pods of which something is watched. */
  uids(): IterableIterator<string> {
    return this.#byPod.keys();
  }
}

/**
 * A condition on one container by name: met when `predicate` holds, or when it cannot come to hold because the
 * container is not running any more, or is not there.
 */
export function runningContainerCondition(
  containerName: string,
  predicate: (container: PodStatus['containers'][number]) => boolean,
): PodCondition {
  return (status) => {
    const newest = status.containers
      .filter((container) => container.name === containerName)
      .reduce<PodStatus['containers'][number] | undefined>(
        (best, container) => (best === undefined || container.attempt > best.attempt ? container : best),
        undefined,
      );
    return newest?.state !== 'running' || predicate(newest);
  };
}
