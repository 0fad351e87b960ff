import { describe, expect, it } from 'vitest';
import {
  matchesNodeSelector,
  type NodeSelection,
  type NodeSelectorRequirement,
} from './match-node-selector.js';

const node = { metadata: { name: 'here', labels: { disk: 'ssd', size: '8' } } };
const requiring = (...nodeSelectorTerms: object[]): NodeSelection => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const expressing = (...matchExpressions: NodeSelectorRequirement[]): NodeSelection =>
  requiring({ matchExpressions });

describe('a node', () => {
  it.each<[string, NodeSelection]>([
    ['nothing', {}],
    ['its labels', { nodeSelector: { disk: 'ssd' } }],
    ['one of several values', expressing({ key: 'disk', operator: 'In', values: ['hdd', 'ssd'] })],
    ['none of several', expressing({ key: 'zone', operator: 'NotIn', values: ['a'] })],
    ['more', expressing({ key: 'size', operator: 'Gt', values: ['4'] })],
    ['less', expressing({ key: 'size', operator: 'Lt', values: ['16'] })],
    ['a label', expressing({ key: 'disk', operator: 'Exists' }, { key: 'x', operator: 'DoesNotExist' })],
    [
      'one of several terms, also by its name',
      requiring(
        { matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd'] }] },
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['here'] }] },
      ),
    ],
  ])('is one for whoever asks for %s', (_what, selection) => {
    expect(matchesNodeSelector(selection, node)).toBe(true);
  });

  it.each<[string, NodeSelection]>([
    ['another label', { nodeSelector: { disk: 'hdd' } }],
    ['a name of Object', { nodeSelector: { constructor: 'x' } }],
    ['more than it has', expressing({ key: 'size', operator: 'Gt', values: ['8'] })],
    ['more of what is no number', expressing({ key: 'disk', operator: 'Gt', values: ['1'] })],
    ['a term of nothing', expressing()],
    ['an operator of tomorrow', expressing({ key: 'disk', operator: 'Near', values: ['ssd'] })],
    ['no term', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } }],
  ])('is none for whoever asks for %s', (_what, selection) => {
    expect(matchesNodeSelector(selection, node)).toBe(false);
  });
});
