import { type ObservedContainer, type ObservedPod, type ObservedState } from '../observed/runtime.js';

const STATES: Readonly<Record<ObservedState, true>> = {
  created: true,
  running: true,
  exited: true,
  unknown: true,
};

/** The uid of whatever a runtime put into its list; empty where there is none. */
export function uidOf(pod: ObservedPod | null | undefined): string {
  return typeof pod?.uid === 'string' ? pod.uid : '';
}

/**
 * What is wrong with a pod that a runtime listed, with its path in the pod; undefined when nothing is.
 *
 * Types do not hold a runtime that somebody brought along: one pod that makes no sense must not hide the others.
 */
export function findFlaw(pod: ObservedPod | null | undefined): string | undefined {
  if (typeof pod !== 'object' || pod === null) return `the pod must be an object, not ${String(pod)}`;
  if (uidOf(pod) === '') return 'uid: must be a string that is not empty';
  return flawOfMembers('sandboxes', pod.sandboxes) ?? flawOfMembers('containers', pod.containers);
}

function flawOfMembers(
  name: string,
  members: readonly (ObservedContainer | null | undefined)[],
): string | undefined {
  // `Array.isArray` would make the members any.
  if (!(members instanceof Array)) return `${name}: must be an array`;
  for (const [index, member] of members.entries()) {
    if (typeof member !== 'object' || member === null) return `${name}[${index}]: must be an object`;
    if (typeof member.id !== 'string' || member.id === '')
      return `${name}[${index}].id: must be a string that is not empty`;
    if (!Object.hasOwn(STATES, member.state)) {
      return `${name}[${index}].state: ${JSON.stringify(member.state)} is none of ${Object.keys(STATES).join(', ')}`;
    }
  }
  return undefined;
}
