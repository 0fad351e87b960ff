import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ContainerStatus, type IsOurs, type PodStatus } from '#watch';

/** How many dead containers to keep, and for how long. A negative number means no limit. */
export interface ContainerPolicy {
  /** Containers that were created less than this many milliseconds ago stay. */
  readonly minAgeMs: number;
  /** For each container of each pod. */
  readonly maxPerPodContainer: number;
  /** In total. */
  readonly maxContainers: number;
}

/** The kubelet's policy: the newest dead one of each container stays. */
export const KEEP_NEWEST_DEAD: ContainerPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/** A container that does not run and may be removed. */
export interface DeadContainer {
  readonly pod: PodRef;
  readonly container: ContainerStatus;
  /** The newest of its name, in a pod that is not gone: nothing else shows that it has run. */
  readonly isLast: boolean;
}

/** A pod with its dead containers. */
export interface PodWithDead {
  /** Nobody wants it any more: nothing of it has to stay. */
  readonly isGone: boolean;
  readonly dead: readonly DeadContainer[];
}

/**
 * The owned containers of a pod that do not run. Pure.
 *
 * Excludes the newest of its name if it was created but not started, unless the pod is gone: it is about to
 * start.
 */
export function findDead(status: PodStatus, isGone: boolean, isOurs: IsOurs): PodWithDead {
  const { uid, namespace, name } = status;
  const newest = new Map<string, ContainerStatus>();
  for (const container of status.containers) {
    const known = newest.get(container.name);
    if (known === undefined || compareAge(container, known) < 0) newest.set(container.name, container);
  }
  const dead = status.containers
    .filter(({ state }) => state !== 'running')
    .filter(
      (container) => isGone || container.state !== 'created' || newest.get(container.name) !== container,
    )
    .filter(({ labels }) => isOurs(labels, uid))
    .map((container) => ({
      pod: { uid, namespace, name },
      container,
      isLast: !isGone && newest.get(container.name) === container,
    }));
  return { isGone, dead };
}

/**
 * The dead containers to remove, oldest first. Pure.
 *
 * These are all of pods that are gone, then those beyond the newest of each container of a pod. While there
 * are still too many in total, an equal share of each, and the oldest of the rest. Unlike the kubelet, which
 * has the pod's status from an API server, it never removes the last container of a name while the pod
 * exists: a pod that runs once would run again.
 */
export function planRemovals(
  pods: readonly PodWithDead[],
  policy: ContainerPolicy,
  nowMs: number,
): DeadContainer[] {
  const toGo: DeadContainer[] = [];
  let groups: DeadContainer[][] = [];
  for (const { isGone, dead } of pods) {
    const old = dead.filter(({ container }) => isOldEnough(container, policy.minAgeMs, nowMs));
    if (isGone) toGo.push(...old);
    else groups.push(...newestFirstByName(old));
  }
  const keep = (most: number): void => {
    const kept = groups.map((group) => Math.max(most, group[0]?.isLast === true ? 1 : 0));
    groups.forEach((group, index) => toGo.push(...group.slice(kept[index])));
    groups = groups.map((group, index) => group.slice(0, kept[index]));
  };
  if (policy.maxPerPodContainer >= 0) keep(policy.maxPerPodContainer);
  groups = groups.filter((group) => group.length > 0);
  const { maxContainers } = policy;
  if (maxContainers >= 0 && countAll(groups) > maxContainers) {
    keep(Math.max(1, Math.floor(maxContainers / groups.length)));
    const rest = groups.flat().toSorted((a, b) => byTime(b.container, a.container));
    toGo.push(...rest.slice(maxContainers).filter(({ isLast }) => !isLast));
  }
  return toGo.toSorted((a, b) => byTime(a.container, b.container));
}

/**
 * The containers of a name beyond the dead ones to keep, and beyond the newest, oldest first. Pure.
 *
 * They are removed as soon as another one has died.
 */
export function planRemovalsOnDeath(
  pod: PodWithDead,
  containerName: string,
  { minAgeMs, maxPerPodContainer: most }: ContainerPolicy,
  nowMs: number,
): DeadContainer[] {
  const dead = pod.dead.filter(
    ({ container }) => container.name === containerName && container.state === 'exited',
  );
  const policy = { minAgeMs, maxPerPodContainer: most < 0 ? most : Math.max(1, most), maxContainers: -1 };
  return planRemovals([{ ...pod, dead }], policy, nowMs);
}

/** The owned useless sandboxes of a pod: not ready, without containers, and not the newest. Pure. */
export function planSandboxRemovals(
  status: PodStatus,
  isGone: boolean,
  isOurs: IsOurs,
  removedContainers: ReadonlySet<string>,
): string[] {
  const inUse = new Set(
    status.containers.filter(({ id }) => !removedContainers.has(id)).map(({ sandboxId }) => sandboxId),
  );
  return status.sandboxes
    .filter((sandbox, index) => isGone || index > 0)
    .filter(({ id, state }) => state !== 'running' && !inUse.has(id))
    .filter(({ labels }) => isOurs(labels, status.uid))
    .map(({ id }) => id)
    .reverse();
}

function newestFirstByName(dead: readonly DeadContainer[]): DeadContainer[][] {
  const groups = new Map<string, DeadContainer[]>();
  for (const each of dead) {
    const group = groups.get(each.container.name);
    if (group === undefined) groups.set(each.container.name, [each]);
    else group.push(each);
  }
  return [...groups.values()].map((group) => group.toSorted((a, b) => compareAge(a.container, b.container)));
}

/** Newest first: by attempt, which no clock affects, and then by time. */
function compareAge(a: ContainerStatus, b: ContainerStatus): number {
  return b.attempt - a.attempt || byTime(b, a);
}

function byTime(a: ContainerStatus, b: ContainerStatus): number {
  return a.createdAtNs < b.createdAtNs ? -1 : a.createdAtNs > b.createdAtNs ? 1 : 0;
}

function isOldEnough({ createdAtNs }: ContainerStatus, minAgeMs: number, nowMs: number): boolean {
  // A clock that was set back must not keep containers without a minimum age.
  return minAgeMs <= 0 || nowMs - Number(createdAtNs / 1_000_000n) >= minAgeMs;
}

function countAll(groups: readonly (readonly unknown[])[]): number {
  return groups.reduce((count, group) => count + group.length, 0);
}
