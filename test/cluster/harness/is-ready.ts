import { type Node, type Pod } from '../../../src/cluster/client/kube-objects.js';

/** Whether a pod or a node is told to be Ready; one that has not been told of yet is not. */
export function isReady({ status }: Pick<Pod, 'status'> | Pick<Node, 'status'>): boolean {
  return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}
