import { LABELS, type Labels } from './labels.js';

/** Whether a sandbox or container is of this agent's making, or was given to it: by its labels, and its pod. */
export type IsOurs = (labels: Labels, podUid: string) => boolean;

/**
 * What carries the mark of this node instance is ours; and of adopted pods, what carries nobody's mark. Nothing else is
 * ever stopped, changed or removed.
 *
 * `isAdopted`: whether a pod that a kubelet left is ours now, by its uid (default: none is).
 */
export function ownedBy(nodeInstanceId: string, isAdopted: (uid: string) => boolean = () => false): IsOurs {
  return (labels, podUid) => {
    const mark = labels[LABELS.nodeInstance] ?? '';
    if (mark !== '') return mark === nodeInstanceId;
    return labels[LABELS.podUid] === podUid && isAdopted(podUid);
  };
}
