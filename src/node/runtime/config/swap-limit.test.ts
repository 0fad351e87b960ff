import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ResourceList } from '#kube/container/container.js';
import { aSpecContainer, aSpecPod } from '#support/builders/node-pods.js';
import { computeSwapLimit } from './swap-limit.js';

const GIB = 1024n ** 3n;
const NODE = { swap: { isLimited: true, capacityBytes: 4n * GIB }, memoryCapacityBytes: 16n * GIB };

function limitOf(requests: ResourceList, limits: ResourceList = {}, spec: object = {}, facts = NODE): bigint {
  const container = aSpecContainer({ resources: { requests, limits } });
  return computeSwapLimit(aSpecPod({ containers: [container], ...spec }), container, facts);
}

describe('the swap of a container', () => {
  it('is its request’s share of the node’s', () => {
    expect(limitOf({ memory: '4Gi' }, { memory: '8Gi' })).toBe(GIB);
    expect(limitOf({ memory: '2Gi' })).toBe(GIB / 2n);
  });

  it.each<[string, ResourceList, ResourceList, object]>([
    ['its pod is guaranteed', { memory: '1Gi', cpu: '1' }, { memory: '1Gi', cpu: '1' }, {}],
    ['its request is its limit', { memory: '1Gi' }, { memory: '1Gi', cpu: '1' }, {}],
    ['it requests no memory', { cpu: '1' }, {}, {}],
    ['it requests nothing', {}, {}, {}],
    ['its pod is critical', { memory: '1Gi' }, {}, { priority: 2_000_000_000 }],
  ])('is none where %s', (_why, requests, limits, spec) => {
    expect(limitOf(requests, limits, spec)).toBe(0n);
  });

  it('is none unless the node allows it', () => {
    expect(limitOf({ memory: '1Gi' }, {}, {}, { ...NODE, swap: { ...NODE.swap, isLimited: false } })).toBe(
      0n,
    );
  });

  it('is never more than the node has, whatever is requested', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.bigInt({ min: 0n, max: 64n * GIB }), (mebibytes, capacityBytes) => {
        const facts = { ...NODE, swap: { isLimited: true, capacityBytes } };
        const limit = limitOf({ memory: `${mebibytes * 10}Mi` }, {}, {}, facts);
        expect(limit >= 0n && limit <= capacityBytes).toBe(true);
      }),
    );
  });
});
