import { describe, expect, it } from 'vitest';
import { mayNodeSet, parseNodeLabels, parseTaint } from './node-labels.js';

describe('the labels that a node is told to have', () => {
  it('are read as a kubelet reads them', () => {
    expect(parseNodeLabels('disk=ssd, node.kubernetes.io/pool=a,example.org/x=')).toEqual({
      ...{ disk: 'ssd', 'node.kubernetes.io/pool': 'a', 'example.org/x': '' },
    });
    expect(parseNodeLabels('')).toEqual({});
  });

  it.each([
    ['disk', '"disk" is no label, such as disk=ssd'],
    ['a b=c', 'label "a b=c": use a name'],
    ['a=b c', 'label "a=b c": use at most 63'],
    [
      'node-role.kubernetes.io/worker=',
      'a node may not give itself the labels node-role.kubernetes.io/worker:',
    ],
    ['x.node-restriction.kubernetes.io/a=b', 'a node may not give itself'],
    ['k8s.io/a=b', 'a node may not give itself'],
  ])('are refused where an API server would refuse them: %s', (text, message) => {
    expect(() => parseNodeLabels(text)).toThrow(message);
  });

  it('may be Kubernetes’ own where they are about the machine', () => {
    expect(
      ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', 'a.kubelet.kubernetes.io/b', 'x'].every(
        mayNodeSet,
      ),
    ).toBe(true);
    expect(['kubernetes.io/role', 'a.k8s.io/b'].some(mayNodeSet)).toBe(false);
  });
});

describe('a taint', () => {
  it.each([
    ['dedicated=gpu:NoSchedule', { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
    ['example.org/a:NoExecute', { key: 'example.org/a', effect: 'NoExecute' }],
    ['a=:PreferNoSchedule', { key: 'a', effect: 'PreferNoSchedule' }],
  ])('is read: %s', (text, taint) => {
    expect(parseTaint(text)).toEqual(taint);
  });

  it.each(['a', 'a=b', 'a:Never', '=b:NoSchedule', 'a b:NoSchedule', 'a=b c:NoSchedule'])(
    'is refused: %s',
    (text) => {
      expect(() => parseTaint(text)).toThrow(`taint ${JSON.stringify(text)}: `);
    },
  );
});
