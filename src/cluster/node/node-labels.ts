import { checkLabelValue, checkQualifiedName } from '#kube/validation/name-rules.js';
import { type NodeTaint, type TaintEffect } from './node-object.js';

/** Labels under Kubernetes' own names that a node may give itself. */
const OWN_LABELS = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
]);
/** And those below these domains. */
const OWN_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];
const EFFECTS: readonly TaintEffect[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/**
 * Reads `key=value,key=value`, as the kubelet's --node-labels. Throws an Error that says what is wrong and what would be
 * right.
 *
 * What the API server would refuse from a node is refused here, where somebody reads it:
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */
export function parseNodeLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const item of text.split(',').map((each) => each.trim())) {
    if (item === '') continue;
    const [, key, value] = /^([^=]*)=(.*)$/.exec(item) ?? [];
    if (key === undefined || value === undefined) {
      throw new Error(`${JSON.stringify(item)} is no label, such as disk=ssd`);
    }
    labels[key] = value;
  }
  checkNodeLabels(labels);
  return labels;
}

/** Throws an Error when an API server would not take these labels from a node. */
function checkNodeLabels(labels: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(labels)) {
    const problem = checkQualifiedName(key) ?? checkLabelValue(value);
    if (problem !== undefined) throw new Error(`label ${JSON.stringify(`${key}=${value}`)}: ${problem}`);
  }
  const foreign = Object.keys(labels).filter((key) => !mayNodeSet(key));
  if (foreign.length === 0) return;
  const allowed = `${OWN_DOMAINS.join('/…, ')}/…, ${[...OWN_LABELS].join(', ')}`;
  throw new Error(
    `a node may not give itself the labels ${foreign.join(', ')}: of Kubernetes' names it may use ${allowed}`,
  );
}

/** Whether NodeRestriction lets a node set a label of itself. Pure. */
export function mayNodeSet(key: string): boolean {
  const [domain = '', name] = key.split('/');
  if (name === undefined) return true;
  const isBelow = (parents: readonly string[]): boolean =>
    parents.some((parent) => domain === parent || domain.endsWith(`.${parent}`));
  if (isBelow(['node-restriction.kubernetes.io'])) return false;
  return !isBelow(KUBERNETES_DOMAINS) || OWN_LABELS.has(key) || isBelow(OWN_DOMAINS);
}

/** Reads `key=value:NoSchedule` or `key:NoSchedule`, as the kubelet's --register-with-taints. Throws an Error that says what is wrong. */
export function parseTaint(text: string): NodeTaint {
  const [, key = '', value = '', effect = ''] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text.trim()) ?? [];
  const isKnown = (EFFECTS as readonly string[]).includes(effect);
  const problem =
    key === '' || !isKnown
      ? `use key=value:Effect, with ${EFFECTS.join(', ')} as effect`
      : (checkQualifiedName(key) ?? checkLabelValue(value));
  if (problem !== undefined) throw new Error(`taint ${JSON.stringify(text)}: ${problem}`);
  return { key, ...(value === '' ? {} : { value }), effect: effect as TaintEffect };
}
