import { type ObservedContainer, type ObservedPod, type ObservedState } from '../observed/runtime.js';
import { type ContainerLifecycleEvent } from './pod-lifecycle-event.js';

/** What happened to one container between two lists. */
export interface ContainerChange {
  readonly type: ContainerLifecycleEvent['type'];
  /** As in the newer list, or as in the older one if it is gone. */
  readonly container: ObservedContainer;
}

/** The generator's own view of a state. A created container counts as unknown. */
type LookState = 'running' | 'exited' | 'unknown' | 'nonExistent';

const LOOK_STATE: Readonly<Record<ObservedState, LookState>> = {
  created: 'unknown',
  running: 'running',
  exited: 'exited',
  unknown: 'unknown',
};

const NOTHING: readonly ContainerChange['type'][] = [];

/**
 * The result for every pair of states: `TRANSITIONS[older][newer]`.
 *
 * These are the states of the kubelet's generic PLEG, pair by pair. `ContainerChanged` is not published, but
 * it makes the pod due for inspection.
 */
const TRANSITIONS: Readonly<
  Record<LookState, Readonly<Record<LookState, readonly ContainerChange['type'][]>>>
> = {
  nonExistent: {
    running: ['ContainerStarted'],
    exited: ['ContainerDied'],
    unknown: ['ContainerChanged'],
    nonExistent: NOTHING,
  },
  running: {
    running: NOTHING,
    exited: ['ContainerDied'],
    unknown: ['ContainerChanged'],
    nonExistent: ['ContainerDied', 'ContainerRemoved'],
  },
  exited: {
    running: ['ContainerStarted'],
    exited: NOTHING,
    unknown: ['ContainerChanged'],
    nonExistent: ['ContainerRemoved'],
  },
  unknown: {
    running: ['ContainerStarted'],
    exited: ['ContainerDied'],
    unknown: NOTHING,
    nonExistent: ['ContainerDied', 'ContainerRemoved'],
  },
};

const NO_CHANGES: readonly ContainerChange[] = [];

/**
 * Computes what happened to a pod between two lists; `undefined` means that the pod does not exist.
 *
 * Pure. Changes of one container come in the order in which they happened (died, then removed); what vanished
 * comes before what exists, containers before sandboxes. Containers are identified by their id.
 */
export function diffPods(
  older: ObservedPod | undefined,
  newer: ObservedPod | undefined,
): readonly ContainerChange[] {
  if (older === newer) return NO_CHANGES;
  const changes: ContainerChange[] = [];
  const newerById = byId(newer);
  const olderById = byId(older);
  for (const container of olderById.values()) {
    if (!newerById.has(container.id)) add(changes, LOOK_STATE[container.state], 'nonExistent', container);
  }
  for (const container of newerById.values()) {
    const before = olderById.get(container.id);
    const olderState = before === undefined ? 'nonExistent' : LOOK_STATE[before.state];
    add(changes, olderState, LOOK_STATE[container.state], container);
  }
  return changes;
}

/**
 * Computes the changes still to be published for a pod that is gone: `accepted` was published, `seen` is the
 * last list.
 *
 * Pure. A container that was seen but never published, because the pod could not be inspected, died and was
 * removed like any other.
 */
export function diffVanished(
  accepted: ObservedPod | undefined,
  seen: ObservedPod,
): readonly ContainerChange[] {
  if (accepted === seen) return diffPods(accepted, undefined);
  const told = byId(accepted);
  const untold = [...byId(seen).values()].filter((container) => !told.has(container.id));
  return [...diffPods(accepted, undefined), ...endsOf(untold)];
}

/**
 * The changes of containers that came and went before anything was published of them: they died and were
 * removed.
 */
export function endsOf(containers: Iterable<ObservedContainer>): ContainerChange[] {
  return [...containers].flatMap((container): ContainerChange[] => [
    { type: 'ContainerDied', container },
    { type: 'ContainerRemoved', container },
  ]);
}

/** Whether a container of the pod ended: such pods are inspected first. */
export function hasDeath(changes: readonly ContainerChange[]): boolean {
  return changes.some((change) => change.type === 'ContainerDied');
}

/** Whether the only changes are removals of containers whose exits were published before. */
export function areRemovals(changes: readonly ContainerChange[]): boolean {
  return changes.every(({ type }) => type === 'ContainerRemoved');
}

/**
 * Whether the pod contains an end that nothing newer of the same name has replaced.
 *
 * The first list reports everything that ever ended, and most of that is history.
 */
export function hasUnreplacedEnd({ sandboxes, containers }: ObservedPod): boolean {
  return [sandboxes, containers].some((all) => {
    const newest = new Map<string, ObservedContainer>();
    for (const each of all) {
      const known = newest.get(each.name);
      if (known === undefined || each.createdAtNs > known.createdAtNs) newest.set(each.name, each);
    }
    return [...newest.values()].some(({ state }) => state === 'exited');
  });
}

function byId(pod: ObservedPod | undefined): Map<string, ObservedContainer> {
  const map = new Map<string, ObservedContainer>();
  if (pod === undefined) return map;
  for (const container of pod.containers) map.set(container.id, container);
  for (const sandbox of pod.sandboxes) map.set(sandbox.id, sandbox);
  return map;
}

function add(
  changes: ContainerChange[],
  older: LookState,
  newer: LookState,
  container: ObservedContainer,
): void {
  for (const type of TRANSITIONS[older][newer]) changes.push({ type, container });
}
