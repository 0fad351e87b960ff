import { LABELS, type Labels } from './labels.js';

/**
 * Decides by its labels and its pod whether a sandbox or container was made by this agent or adopted by it.
 */
export type IsOurs = (labels: Labels, podUid: string) => boolean;

/**
 * Decides what is ours: what has this node instance's mark, and what has no mark in adopted pods.
 *
 * Nothing else is ever stopped, changed or removed.
 *
 * `isAdopted`: whether a pod that a kubelet left behind now belongs to this agent, by its uid (default: none
 * does).
 */
export function ownedBy(nodeInstanceId: string, isAdopted: (uid: string) => boolean = () => false): IsOurs {
  return (labels, podUid) => {
    const mark = labels[LABELS.nodeInstance] ?? '';
    if (mark !== '') return mark === nodeInstanceId;
    return labels[LABELS.podUid] === podUid && isAdopted(podUid);
  };
}
