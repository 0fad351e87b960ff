import { ANNOTATIONS, type ContainerStatus, LABELS, type PodStatus } from '#watch';

/** The containers of one name, newest first. */
export interface ContainerHistory {
  readonly all: readonly ContainerStatus[];
  /** Those of the present sandbox. */
  readonly current: readonly ContainerStatus[];
}

const NONE: ContainerHistory = { all: [], current: [] };

/** The containers of a pod by name, and who owns them. */
export class PodContainers {
  readonly #histories = new Map<string, ContainerHistory>();
  readonly #observed: PodStatus;

  /** `sandboxId`: the present sandbox; undefined when there is none. */
  constructor(observed: PodStatus, sandboxId: string | undefined) {
    this.#observed = observed;
    for (const [name, containers] of byName(observed.containers)) {
      const owned = containers.filter((container) => this.isOwned(container));
      // Somebody may have created one by hand in an owned sandbox, under the same name.
      const all = (owned.length > 0 ? owned : containers).toSorted(newestFirst);
      const current = all.filter((container) => container.sandboxId === sandboxId);
      this.#histories.set(name, { all, current });
    }
  }

  of(name: string): ContainerHistory {
    return this.#histories.get(name) ?? NONE;
  }

  /** Whether an agent created it for this pod: nothing else is ever stopped or removed. */
  isOfPod({ labels }: ContainerStatus): boolean {
    return labels[LABELS.podUid] === this.#observed.uid || (labels[LABELS.nodeInstance] ?? '') !== '';
  }

  /** The same without ephemeral ones, which run until they end or the whole pod does. */
  isOwned(container: ContainerStatus): boolean {
    return this.isOfPod(container) && container.annotations[ANNOTATIONS.type] !== 'ephemeral';
  }

  /** Owned containers of all names, the newest of each name first. */
  owned(): ContainerStatus[] {
    return [...this.#histories.values()].flatMap(({ all }) =>
      all.filter((container) => this.isOwned(container)),
    );
  }
}

/** Whether a container may have a process: only a runtime that says "exited" or "created" excludes it. */
export function mayBeAlive({ state }: Pick<ContainerStatus, 'state'>): boolean {
  return state === 'running' || state === 'unknown';
}

/** Whether a container was ever started, or may have been. */
export function hasRun({ state }: ContainerStatus): boolean {
  return state !== 'created';
}

/**
 * The container that may be alive, otherwise the one that ended last; a container that was only created has
 * not run.
 */
export function findNewestRun(newestFirst: readonly ContainerStatus[]): ContainerStatus | undefined {
  return newestFirst.find(mayBeAlive) ?? newestFirst.find(hasRun);
}

/** Attempts count up over all sandboxes of a pod, and no jump of a clock changes them. */
function newestFirst(one: ContainerStatus, other: ContainerStatus): number {
  if (one.attempt !== other.attempt) return other.attempt - one.attempt;
  if (one.createdAtNs === other.createdAtNs) return 0;
  return one.createdAtNs < other.createdAtNs ? 1 : -1;
}

function byName(containers: readonly ContainerStatus[]): Map<string, ContainerStatus[]> {
  const groups = new Map<string, ContainerStatus[]>();
  for (const container of containers) {
    const group = groups.get(container.name);
    if (group === undefined) groups.set(container.name, [container]);
    else group.push(container);
  }
  return groups;
}
