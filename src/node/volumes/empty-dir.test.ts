import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computeMemorySize, sizeLimitOf } from './empty-dir.js';

const NODE_BYTES = 8n << 30n;

function pod(...limits: readonly (string | undefined)[]): NodePod {
  const containers = limits.map((memory, index) => ({
    ...{ name: `c${index}`, image: 'i' },
    ...(memory === undefined ? {} : { resources: { limits: { memory } } }),
  }));
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers },
  };
}

describe('the size of an emptyDir in memory', () => {
  it.each([
    ['the node’s where nobody says anything', pod(undefined), undefined, NODE_BYTES],
    ['its limit', pod(undefined), '64Mi', 64n << 20n],
    ['what the pod may use', pod('64Mi', '32Mi'), undefined, 96n << 20n],
    ['what the pod may use where that is less than its limit', pod('64Mi'), '1Gi', 64n << 20n],
    ['the node’s where a container has no limit', pod('64Mi', undefined), undefined, NODE_BYTES],
    ['the node’s at most', pod(undefined), '1Ti', NODE_BYTES],
    ['not limited by 0', pod(undefined), '0', NODE_BYTES],
  ])('is %s', (_, owner, sizeLimit, expected) => {
    expect(computeMemorySize(owner, { sizeLimit }, NODE_BYTES)).toBe(expected);
  });
});

it('takes no limit and 0 for the same', () => {
  expect([undefined, '0', '1k'].map((text) => sizeLimitOf(text))).toEqual([undefined, undefined, 1000n]);
});
