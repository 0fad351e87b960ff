import { type PodRef } from '#kube/pod/pod-ref.js';
import {
  type ContainerStatus,
  type ObservedContainer,
  type PodOwner,
  type PodStatus,
} from '../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { type ContainerChange, endsOf } from './diff.js';
import { type ContainerLifecycleEvent, type PodLifecycleEvent, type Trigger } from './pod-lifecycle-event.js';

/** What all events of one inspection of a pod share. */
export interface EventContext {
  readonly pod: PodRef;
  readonly owner: PodOwner | undefined;
  readonly trigger: Trigger;
  readonly stamp: Stamp;
  readonly observedAtMs: number;
}

/**
 * Converts changes into events, with exit codes, reasons and times from the statuses.
 *
 * ContainerChanged is left out: it only makes a pod due. `statuses` are in order, newest first: an older one
 * may show the exit of a container that was removed before its status could be fetched.
 */
export function toLifecycleEvents(
  changes: readonly ContainerChange[],
  statuses: readonly PodStatus[],
  context: EventContext,
): ContainerLifecycleEvent[] {
  const told = changes.filter(({ type }) => type !== 'ContainerChanged');
  if (told.length === 0) return [];
  const byId = statuses.map((status) => new Map(status.containers.map((known) => [known.id, known])));
  return told.map(({ type, container }) => {
    const known = byId.flatMap((containers) => containers.get(container.id) ?? []);
    return {
      type,
      kind: container.kind,
      ...context,
      containerId: container.id,
      containerName: container.name,
      ...factsOf(type, container, known),
    };
  });
}

/**
 * Containers that came and went before anything could be published: up to a limit themselves, the others
 * counted.
 */
export interface FleetingContainers {
  readonly containers: readonly ObservedContainer[];
  readonly more: number;
}

/**
 * The events of an inspection: first those of unseen containers that came and went, then the changes since
 * the accepted list.
 *
 * A requested re-inspection that found nothing gives a PodSync, and so do containers that came and went and
 * were only counted.
 */
export function toListEvents(
  changes: readonly ContainerChange[],
  fleeting: FleetingContainers,
  statuses: readonly PodStatus[],
  context: EventContext,
  reinspection: boolean,
): PodLifecycleEvent[] {
  const all = [...endsOf(fleeting.containers), ...changes];
  const events: PodLifecycleEvent[] = toLifecycleEvents(all, statuses, context);
  const { more } = fleeting;
  if (more > 0 || (events.length === 0 && reinspection)) {
    events.push({ type: 'PodSync', ...context, folded: more });
  }
  return events;
}

type Facts = Pick<ContainerLifecycleEvent, 'exitCode' | 'reason' | 'occurredAtNs'>;

const NO_FACTS: Facts = { exitCode: undefined, reason: undefined, occurredAtNs: undefined };

function factsOf(
  type: ContainerLifecycleEvent['type'],
  container: ObservedContainer,
  known: readonly ContainerStatus[],
): Facts {
  if (type === 'ContainerStarted') {
    // CRI has no start of a sandbox: it runs from its creation on.
    const startedAtNs = container.kind === 'sandbox' ? container.createdAtNs : (known[0]?.startedAtNs ?? 0n);
    return { ...NO_FACTS, occurredAtNs: startedAtNs === 0n ? undefined : startedAtNs };
  }
  const ended = known.find(({ state }) => state === 'exited');
  if (type !== 'ContainerDied' || ended === undefined) return NO_FACTS;
  return {
    exitCode: ended.exitCode,
    reason: ended.reason === '' ? undefined : ended.reason,
    occurredAtNs: ended.finishedAtNs === 0n ? undefined : ended.finishedAtNs,
  };
}
