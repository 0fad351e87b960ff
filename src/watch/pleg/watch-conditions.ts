import { type PodStatus } from '../observed/runtime.js';

/** Whether the pod meets a condition. Pure and fast, as it is evaluated after each inspection. */
export type PodCondition = (status: PodStatus) => boolean;

interface WatchedCondition {
  readonly condition: PodCondition;
  readonly version: number;
}

/** A condition at the end of an inspection. */
export interface ConditionSnapshot extends WatchedCondition {
  readonly key: string;
}

/**
 * Conditions that somebody waits for, by pod and key.
 *
 * Setting a key again replaces the condition and raises its version. A condition that was replaced while it
 * was being evaluated is not removed, as the result belongs to the older one.
 */
export class WatchConditions {
  readonly #byPod = new Map<string, Map<string, WatchedCondition>>();

  /** Watches a condition of a pod under a key, and replaces the one that was there. */
  set(uid: string, key: string, condition: PodCondition): void {
    let conditions = this.#byPod.get(uid);
    if (conditions === undefined) this.#byPod.set(uid, (conditions = new Map<string, WatchedCondition>()));
    const version = (conditions.get(key)?.version ?? -1) + 1;
    conditions.set(key, { condition, version });
  }

  /** Whether anything of the pod is watched, which makes it due at each relist. */
  has(uid: string): boolean {
    return this.#byPod.has(uid);
  }

  /** The watched version of a key; undefined if there is none. */
  version(uid: string, key: string): number | undefined {
    return this.#byPod.get(uid)?.get(key)?.version;
  }

  /** The present conditions of a pod. */
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
   * Evaluates the conditions of a snapshot and completes those that are met.
   *
   * Returns the keys of those that were still at their version. A condition that throws is not met, and is
   * reported to `onThrow`.
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

  /** The pods with watched conditions. */
  uids(): IterableIterator<string> {
    return this.#byPod.keys();
  }
}

/**
 * A condition on one container by name: met if `predicate` is true, or can no longer become true because the
 * container has stopped or does not exist.
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
