/**
 * Whether a pod that was bound to this node may be here, by what the node's object says: pure, in the kubelet's order and
 * words. What it needs of the machine is another matter.
 *
 * @see https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
 * @module
 */
import { type ApiNode, type NodeTaint } from './api-node.js';
import { type NamedApiPod, type Toleration } from './api-pod.js';
import { matchesNodeSelector } from './match-node-selector.js';

/** Why a pod does not run here: for its status and an event. */
export interface NodeRejection {
  /** CamelCase, as in `NodeAffinity`. */
  readonly reason: string;
  readonly message: string;
}

/** Undefined when it may. */
export function admitToNode({ spec = {} }: NamedApiPod, node: ApiNode): NodeRejection | undefined {
  if (!matchesNodeSelector(spec, node)) {
    return refuse('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  }
  if ((spec.nodeName ?? '') !== '' && spec.nodeName !== node.metadata?.name) {
    return refuse('NodeName', "node(s) didn't match the requested node name");
  }
  const { tolerations = [] } = spec;
  const untolerated = (node.spec?.taints ?? [])
    // The others are the scheduler's: what is here already stays.
    .filter(({ effect }) => effect === 'NoExecute')
    .find((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
  if (untolerated !== undefined) {
    return refuse('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  }
  return undefined;
}

/** Whether that toleration is of that taint. Pure. */
export function tolerates(
  { key = '', operator = '', value = '', effect = '' }: Toleration,
  taint: NodeTaint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  // Without a key only "Exists" is of all.
  return (operator === '' || operator === 'Equal') && key !== '' && value === (taint.value ?? '');
}

function refuse(predicate: string, why: string): NodeRejection {
  return { reason: predicate, message: `Pod was rejected: Predicate ${predicate} failed: ${why}` };
}
