import { type ObservedContainer, type ObservedPod, type ObservedState } from '../observed/runtime.js';
import { type ContainerLifecycleEvent } from './events.js';

/** What happened to one container between two looks. */
export interface ContainerChange {
  readonly type: ContainerLifecycleEvent['type'];
  /** As seen last: in the newer look, or in the older one when it is gone. */
  readonly container: ObservedContainer;
}

/** The generator's own view of a state. A created container is not told apart from one that nobody knows about. */
type LookState = 'running' | 'exited' | 'unknown' | 'nonExistent';

const LOOK_STATE: Readonly<Record<ObservedState, LookState>> = {
  created: 'unknown',
  running: 'running',
  exited: 'exited',
  unknown: 'unknown',
};

const NOTHING: readonly ContainerChange['type'][] = [];

/**
 * What follows from every pair of states: `TRANSITIONS[older][newer]`.
 *
 * The states of the kubelet's generic PLEG, pair by pair. `ContainerChanged` is told to nobody, but it makes the
 * pod due for inspection.
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
 * Computes what happened to a pod between two looks; `undefined` is a pod that was not there.
 *
 * Pure. Changes of one container come in the order in which they happened (died, then removed); what vanished
 * comes before what is there, containers before sandboxes. A container stands under its id: the same id in both
 * looks is the same container.
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
 * Computes what is left to tell of a pod that is gone: `accepted` is what was told, `seen` the last look.
 *
 * Pure. A container that was seen, but never told of because the pod could not be inspected, died and was removed
 * like any other.
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

/** What is to be told of containers that came and went without anybody having been told: they died and were removed. */
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

/** Whether nothing happened but that containers are gone whose ends were told of before. */
export function areRemovals(changes: readonly ContainerChange[]): boolean {
  return changes.every(({ type }) => type === 'ContainerRemoved');
}

/**
 * Whether anything of the pod has ended that nothing newer of the same name stands for. At a first look all that ever ended
 * is told of, and most of it is history.
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
