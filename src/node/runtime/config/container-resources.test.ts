import { describe, expect, it } from 'vitest';
import { type ResourceList } from '#kube/container/container.js';
import { aSpecPod, aSpecContainer, someNodeFacts } from '#support/builders/node-pods.js';
import {
  computeContainerResources,
  computePodLimits,
  computePodResources,
  computePodShares,
} from './container-resources.js';

const node = someNodeFacts();

function resourcesOf(requests: ResourceList, limits: ResourceList = {}, facts = node) {
  const container = aSpecContainer({ resources: { requests, limits } });
  return computeContainerResources(aSpecPod({ containers: [container] }), container, facts);
}

describe('the limits of a container', () => {
  it.each<[ResourceList, ResourceList, bigint, bigint, bigint]>([
    [{}, {}, 2n, 0n, 0n],
    [{ cpu: '100m' }, {}, 102n, 0n, 0n],
    [{ cpu: '2' }, { cpu: '4' }, 2048n, 400_000n, 100_000n],
    [{}, { cpu: '500m' }, 512n, 50_000n, 100_000n],
    [{ cpu: '1m' }, { cpu: '1m' }, 2n, 1000n, 100_000n],
    [{ cpu: '1000' }, {}, 262_144n, 0n, 0n],
  ])('of cpu %j up to %j are shares %s and quota %s of %s', (requests, limits, shares, quota, period) => {
    expect(resourcesOf(requests, limits)).toMatchObject({
      cpuShares: shares,
      cpuQuota: quota,
      cpuPeriod: period,
    });
  });

  it('of cpu are not enforced where the node does not want that', () => {
    const facts = someNodeFacts({ cpuCfsQuota: false });
    expect(resourcesOf({}, { cpu: '1' }, facts)).toMatchObject({ cpuShares: 1024n, cpuQuota: 0n });
  });

  it('of memory are bytes', () => {
    expect(resourcesOf({}, { memory: '64Mi' }).memoryLimitInBytes).toBe(67_108_864n);
  });
});

describe('the resources of a whole pod', () => {
  const whole = (limits: ResourceList, requests: ResourceList, ...own: ResourceList[]) =>
    aSpecPod({
      resources: { limits, requests },
      containers: own.map((each, at) => aSpecContainer({ name: `c${at}`, resources: { requests: each } })),
    });

  it('are those of its group, and the limits of containers without their own', () => {
    const pod = whole({ cpu: '2', memory: '1Gi' }, { cpu: '500m', memory: '1Gi' }, {}, { cpu: '250m' });
    expect(computePodLimits(pod, node)).toEqual({
      cpuQuotaUs: 200_000n,
      cpuPeriodUs: 100_000n,
      memoryBytes: 2n ** 30n,
    });
    expect(computePodShares(pod)).toBe(512n);
    expect(computePodResources(pod, node)).toMatchObject({ cpuShares: 512n, cpuQuota: 200_000n });
    const [first, second] = pod.spec.containers.map((each) => computeContainerResources(pod, each, node));
    expect(first).toMatchObject({ cpuShares: 2048n, cpuQuota: 200_000n, memoryLimitInBytes: 2n ** 30n });
    expect(second).toMatchObject({ cpuShares: 256n, cpuQuota: 200_000n, memoryLimitInBytes: 2n ** 30n });
  });

  it('share out the memory that no container requests among all of them, when memory runs out', () => {
    const pod = whole({}, { memory: '4Gi' }, { memory: '2Gi' }, {});
    const scores = pod.spec.containers.map((each) => computeContainerResources(pod, each, node).oomScoreAdj);
    // Of 8 GiB: 2 and 1, and nothing and 1.
    expect(scores).toEqual([625n, 875n]);
  });
});

describe('what goes when a container needs more memory than its limit', () => {
  it('is all of it where the node has the kernel do so', () => {
    const facts = someNodeFacts({ oomKillsContainer: true });
    expect(resourcesOf({}, { memory: '64Mi' }, facts).unified).toEqual({ 'memory.oom.group': '1' });
    // The limit of its pod, or of all pods, counts as well.
    expect(resourcesOf({}, {}, facts).unified).toEqual({ 'memory.oom.group': '1' });
  });

  it('is one process otherwise', () => {
    expect(resourcesOf({}, { memory: '64Mi' }).unified).toEqual({});
  });
});

describe('who goes first when memory runs out', () => {
  it.each<[string, ResourceList, ResourceList, bigint]>([
    ['who asked for nothing', {}, {}, 1000n],
    ['who is guaranteed all, last', { cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' }, -997n],
    ['who asked for half of it', { memory: '4Gi' }, {}, 500n],
    ['who asked for little', { cpu: '1' }, {}, 999n],
    ['who asked for more than there is', { memory: '9Gi' }, {}, 3n],
  ])('is %s', (_who, requests, limits, score) => {
    expect(resourcesOf(requests, limits).oomScoreAdj).toBe(score);
  });

  it('is no sidecar before those that it serves', () => {
    const sidecar = aSpecContainer({ name: 'proxy', restartPolicy: 'Always' });
    const app = aSpecContainer({ resources: { requests: { memory: '4Gi' } } });
    const pod = aSpecPod({ containers: [app], initContainers: [sidecar] });
    expect(computeContainerResources(pod, sidecar, node).oomScoreAdj).toBe(500n);
    expect(computeContainerResources(pod, { ...sidecar, restartPolicy: undefined! }, node).oomScoreAdj).toBe(
      999n,
    );
  });

  it('is a regular container for its own sake, whatever its restart policy', () => {
    const app = aSpecContainer({ resources: { requests: { memory: '4Gi' } } });
    const other = aSpecContainer({ name: 'other', restartPolicy: 'Always' });
    const pod = aSpecPod({ containers: [app, other] });
    expect(computeContainerResources(pod, other, node).oomScoreAdj).toBe(999n);
  });

  it('is nobody whom the node needs', () => {
    const container = aSpecContainer();
    const pod = aSpecPod({ containers: [container], priorityClassName: 'system-node-critical' });
    expect(computeContainerResources(pod, container, node).oomScoreAdj).toBe(-997n);
  });
});

describe('what a whole pod may use', () => {
  const limited = (name: string, cpu: string, memory: string, more = {}) =>
    aSpecContainer({ name, resources: { limits: { cpu, memory } }, ...more });

  it('is what its containers may together', () => {
    const pod = aSpecPod({ containers: [limited('a', '1', '1Gi'), limited('b', '500m', '1Gi')] });
    expect(computePodResources(pod, node)).toMatchObject({
      cpuShares: 1536n,
      cpuQuota: 150_000n,
      memoryLimitInBytes: 2n * 1024n ** 3n,
    });
  });

  it('has room for the largest init container', () => {
    const pod = aSpecPod({
      initContainers: [
        limited('init', '1', '4Gi'),
        limited('proxy', '1', '1Gi', { restartPolicy: 'Always' }),
      ],
      containers: [limited('a', '1', '1Gi')],
    });
    expect(computePodResources(pod, node).memoryLimitInBytes).toBe(4n * 1024n ** 3n);
  });

  it('has no limit when one of them has none', () => {
    const pod = aSpecPod({ containers: [limited('a', '1', '1Gi'), aSpecContainer({ name: 'b' })] });
    expect(computePodResources(pod, node)).toMatchObject({ cpuQuota: 0n, memoryLimitInBytes: 0n });
  });
});
