/**
 * Whether a pod that was bound to this node may be here, by what the node's object says: pure, in the kubelet's order and
 * words. What it needs of the machine is another matter.
 *
 * @see https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
 * @module
 */
import { type ApiNode, type NodeTaint } from '../node/api-node.js';
import { matchesNodeSelector, type NodeSelection } from '../node/match-node-selector.js';
import { type NamedApiPod, type Toleration } from './api-pod.js';

/** Why a pod does not run here: for its status and an event. */
export interface NodeRejection {
  /** CamelCase, as in `NodeAffinity`. */
  readonly reason: string;
  readonly message: string;
}

const OS_LABEL = 'kubernetes.io/os';
const THIS_OS = 'linux';

/** Undefined when it may. */
export function admitToNode({ spec = {} }: NamedApiPod, node: ApiNode): NodeRejection | undefined {
  const byLabels = admitByLabels(spec, node);
  if (byLabels !== undefined) return byLabels;
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

/** Of a pod that is not {@link isForThisSystem}. */
export const WRONG_SYSTEM: NodeRejection = {
  reason: 'PodOSNotSupported',
  message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
};

/** Whether a pod asks for no operating system but Linux. */
export function isForThisSystem({ spec }: NamedApiPod): boolean {
  return [THIS_OS, ''].includes(spec?.os?.name ?? '');
}

/** By labels of the node alone: all that a static pod is asked for. Taints are for those that come from elsewhere. */
export function admitByLabels(spec: NodeSelection, node: ApiNode): NodeRejection | undefined {
  const { [OS_LABEL]: os = THIS_OS } = spec.nodeSelector ?? {};
  if (os !== THIS_OS) {
    const why = `Failed to admit pod as the \`${OS_LABEL}\` label doesn't match node label`;
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message: `Pod was rejected: ${why}` };
  }
  if (matchesNodeSelector(spec, node)) return undefined;
  return refuse('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
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
