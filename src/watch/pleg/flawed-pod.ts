import { type ObservedContainer, type ObservedPod, type ObservedState } from '../observed/runtime.js';

const STATES: Readonly<Record<ObservedState, true>> = {
  created: true,
  running: true,
  exited: true,
  unknown: true,
};

/** The uid of a listed pod, which may be malformed; empty if there is none. */
export function uidOf(pod: ObservedPod | null | undefined): string {
  return typeof pod?.uid === 'string' ? pod.uid : '';
}

/**
 * The flaw in a listed pod, with its path in the pod; undefined if there is none.
 *
 * A user's own runtime need not comply with the types, and one malformed pod must not hide the others.
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
