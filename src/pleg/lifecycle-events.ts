import { type PodRef } from '../model/pod-ref.js';
import { type PodOwner, type PodStatus } from '../runtime/runtime.js';
import { type Stamp } from '../util/clock.js';
import { type ContainerChange } from './diff.js';
import { type ContainerLifecycleEvent, type Trigger } from './events.js';

/** What all events of one look at one pod share. */
export interface EventContext {
  readonly pod: PodRef;
  readonly owner: PodOwner | undefined;
  readonly trigger: Trigger;
  readonly stamp: Stamp;
  readonly observedAtMs: number;
}

/**
 * Turns changes into events, with what the status says of exit codes, reasons and times.
 *
 * ContainerChanged is left out: it made the pod due, it is news to nobody. `status` is undefined for a pod that is
 * gone.
 */
export function toLifecycleEvents(
  changes: readonly ContainerChange[],
  status: PodStatus | undefined,
  context: EventContext,
): ContainerLifecycleEvent[] {
  const events: ContainerLifecycleEvent[] = [];
  for (const { type, container } of changes) {
    if (type === 'ContainerChanged') continue;
    events.push({
      type,
      kind: container.kind,
      ...context,
      containerId: container.id,
      containerName: container.name,
      ...factsOf(type, container.id, status),
    });
  }
  return events;
}

type Facts = Pick<ContainerLifecycleEvent, 'exitCode' | 'reason' | 'occurredAtNs'>;

const NO_FACTS: Facts = { exitCode: undefined, reason: undefined, occurredAtNs: undefined };

function factsOf(type: ContainerLifecycleEvent['type'], id: string, status: PodStatus | undefined): Facts {
  const container = status?.containers.find((candidate) => candidate.id === id);
  if (container === undefined) return NO_FACTS;
  if (type === 'ContainerStarted') {
    return { ...NO_FACTS, occurredAtNs: container.startedAtNs === 0n ? undefined : container.startedAtNs };
  }
  if (type !== 'ContainerDied' || container.state !== 'exited') return NO_FACTS;
  return {
    exitCode: container.exitCode,
    reason: container.reason === '' ? undefined : container.reason,
    occurredAtNs: container.finishedAtNs === 0n ? undefined : container.finishedAtNs,
  };
}
