import { describe, expect, it } from 'vitest';
import { admitByLabels, admitToNode, tolerates } from './admit-to-node.js';
import { type ApiPodSpec, type NamedApiPod } from './api-pod.js';

const node = {
  metadata: { name: 'here', labels: { disk: 'ssd', size: '8' } },
  spec: {
    taints: [
      { key: 'dedicated', value: 'db', effect: 'NoExecute' },
      { key: 'cordon', effect: 'NoSchedule' },
    ],
  },
};
const labelled = { metadata: { name: 'here', labels: { disk: 'ssd', 'kubernetes.io/os': 'linux' } } };
const tolerations = [{ key: 'dedicated', operator: 'Exists' }];
const podOf = (spec: ApiPodSpec): NamedApiPod => ({
  metadata: { uid: 'u', namespace: 'default', name: 'web' },
  spec: { tolerations, ...spec },
});

it('a static pod is held against labels alone', () => {
  expect(
    admitByLabels({ nodeSelector: { disk: 'ssd', 'kubernetes.io/os': 'linux' } }, labelled),
  ).toBeUndefined();
  expect(admitByLabels({ nodeSelector: { disk: 'hdd' } }, node)).toMatchObject({ reason: 'NodeAffinity' });
  expect(admitByLabels({}, node)).toBeUndefined();
  expect(admitByLabels({ nodeSelector: { 'kubernetes.io/os': 'plan9' } }, labelled)).toEqual({
    reason: 'PodOSSelectorNodeLabelDoesNotMatch',
    message: "Pod was rejected: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  });
});

describe('a pod that was bound to this node', () => {
  it.each<[string, ApiPodSpec]>([
    ['asks for nothing', {}],
    ['selects its labels', { nodeSelector: { disk: 'ssd' }, nodeName: 'here' }],
  ])('and %s is admitted', (_what, spec) => {
    expect(admitToNode(podOf(spec), node)).toBeUndefined();
  });

  it.each<[string, ApiPodSpec]>([
    ['another label', { nodeSelector: { disk: 'hdd' } }],
    ['no term', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } }],
  ])('and asks for %s is not', (_what, spec) => {
    expect(admitToNode(podOf(spec), node)).toEqual({
      reason: 'NodeAffinity',
      message:
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
  });

  it('is one of several terms, also by its name', () => {
    const term = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['here'] }] };
    const other = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd'] }] };
    const required = { nodeSelectorTerms: [other, term] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    expect(admitToNode(podOf({ affinity }), node)).toBeUndefined();
  });

  it('has to tolerate what drives pods off the node, and nothing else', () => {
    expect(admitToNode(podOf({ tolerations: [] }), node)?.reason).toBe('TaintToleration');
    expect(admitToNode(podOf({ tolerations: [{ operator: 'Exists' }] }), node)).toBeUndefined();
  });

  it('is meant for no other', () => {
    expect(admitToNode(podOf({ nodeName: 'there' }), node)?.reason).toBe('NodeName');
  });
});

describe('a toleration', () => {
  const taint = { key: 'dedicated', value: 'db', effect: 'NoExecute' };
  it.each([
    [{ key: 'dedicated', value: 'db' }, true],
    [{ key: 'dedicated', operator: 'Equal', value: 'db', effect: 'NoExecute' }, true],
    [{ key: 'dedicated', operator: 'Equal', value: 'web' }, false],
    [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }, false],
    [{ operator: 'Exists' }, true],
    [{ operator: 'Equal', value: 'db' }, false],
    [{ key: 'other', operator: 'Exists' }, false],
  ])('%j of a taint: %s', (toleration, expected) => {
    expect(tolerates(toleration, taint)).toBe(expected);
  });
});
