import { composePodStatus } from '../../observed/compose-pod-status.js';
import {
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type EventStatuses,
} from '../../observed/runtime.js';
import { withMemoryKills } from './memory-kills.js';

/** Input of {@link composeEventStatus}. */
export interface EventStatusInputs {
  /** The pod in a list that began after the event had come. */
  readonly seen: ObservedPod;
  /** The list entry that `known` belongs to; undefined for a new pod. */
  readonly accepted: ObservedPod | undefined;
  readonly known: PodStatus;
  /** The status in the event. */
  readonly told: EventStatuses;
}

/**
 * Builds a pod's status from an event, so that no status call is needed. Pure.
 *
 * The event alone proves nothing; the list does. If the list shows a member in the same state as the event,
 * the event's status is right: a container enters each state once, and apart from its limits, which no list
 * shows either, nothing about it changes within a state. If the list shows a member unchanged, its known
 * status is used, since the runtime may have been asked about it after the event was made. The exception is a
 * late out-of-memory reason, which is taken from the event. Undefined if the event does not cover a change,
 * or if anything has changed since.
 */
export function composeEventStatus({
  seen,
  accepted,
  known,
  told,
}: EventStatusInputs): PodStatus | undefined {
  const sandboxes = findAll(seen.sandboxes, told.sandboxes, accepted?.sandboxes, known.sandboxes);
  const containers = findAll(seen.containers, told.containers, accepted?.containers, known.containers);
  if (sandboxes === undefined || containers === undefined) return undefined;
  return withMemoryKills(composePodStatus(seen, sandboxes, containers), told.containers);
}

interface Member {
  readonly id: string;
  readonly state: ObservedState;
}

function findAll<Status extends Member>(
  members: readonly ObservedContainer[],
  told: readonly Status[],
  before: readonly ObservedContainer[] = [],
  known: readonly Status[],
): readonly Status[] | undefined {
  const found: Status[] = [];
  for (const member of members) {
    const isSame = ({ id, state }: Member): boolean => id === member.id && state === member.state;
    // The same object in two lists means no change.
    const status = (before.includes(member) ? known.find(isSame) : undefined) ?? told.find(isSame);
    if (status === undefined) return undefined;
    found.push(status);
  }
  return found;
}
