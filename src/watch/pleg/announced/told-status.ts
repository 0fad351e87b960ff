import { composePodStatus } from '../../observed/compose-pod-status.js';
import {
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type ToldStatuses,
} from '../../observed/runtime.js';
import { withMemoryKills } from './memory-kills.js';

/** What {@link statusAsTold} is made of. */
export interface ToldStatusInputs {
  /** As a look shows the pod that began after the event had come. */
  readonly seen: ObservedPod;
  /** The look that `known` is of; undefined for a pod that is new. */
  readonly accepted: ObservedPod | undefined;
  readonly known: PodStatus;
  /** What the event told. */
  readonly told: ToldStatuses;
}

/**
 * The status of a pod out of what an event told of it, so that nobody has to ask. Pure.
 *
 * The event alone proves nothing; the look does. What that shows in the state in which the event had it is as the event said: a
 * container has each state once, and but for its limits, of which no look tells either, nothing about it changes
 * meanwhile. What the look shows unchanged is as it was known, since the runtime may have been asked about it after the event
 * was made, and what has changed the event has to tell of; but that an end was for want of memory a runtime may learn after
 * the end. Undefined when anything is missing, or has moved on.
 */
export function statusAsTold({ seen, accepted, known, told }: ToldStatusInputs): PodStatus | undefined {
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
    // The same object stands for the same in two looks.
    const status = (before.includes(member) ? known.find(isSame) : undefined) ?? told.find(isSame);
    if (status === undefined) return undefined;
    found.push(status);
  }
  return found;
}
