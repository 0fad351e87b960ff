import { describe, expect, it } from 'vitest';
import { type Container } from '../container/container.js';
import {
  computeOtherLimit,
  computeOtherRequests,
  computePodRequests,
  isExtendedResource,
} from './pod-requests.js';

function container(cpu: string, memory = '0', more: Partial<Container> = {}): Container {
  return { name: 'c', image: 'i', resources: { requests: { cpu, memory } }, ...more };
}
const SIDECAR = { restartPolicy: 'Always' } as const;
const cpuOf = (containers: Container[], initContainers: Container[] = []): number =>
  Number(computePodRequests({ containers, initContainers }).cpuMilli);

describe('the request of a pod', () => {
  it('is the sum of its containers', () => {
    const requests = computePodRequests({ containers: [container('100m', '1Ki'), container('1', '2Ki')] });
    expect(requests).toEqual({ cpuMilli: 1_100n, memoryBytes: 3_072n });
  });

  it('is that of the largest init container, if that is more', () => {
    expect(cpuOf([container('100m')], [container('2'), container('1')])).toBe(2_000);
    expect(cpuOf([container('3')], [container('2'), container('1')])).toBe(3_000);
  });

  it('counts sidecars in addition to the containers, and to later init containers', () => {
    expect(cpuOf([container('1')], [container('500m', '0', SIDECAR)])).toBe(1_500);
    expect(cpuOf([container('1')], [container('500m', '0', SIDECAR), container('2')])).toBe(2_500);
    expect(cpuOf([container('1')], [container('2'), container('500m', '0', SIDECAR)])).toBe(2_000);
  });

  it('uses a limit as the request if only the limit is set', () => {
    const limited: Container = { name: 'c', image: 'i', resources: { limits: { cpu: '250m' } } };
    expect(cpuOf([limited])).toBe(250);
  });

  it("includes the pod's overhead", () => {
    const overhead = { cpu: '250m', memory: '1Ki' };
    const requests = computePodRequests({ containers: [container('1', '2Ki')], overhead });
    expect(requests).toEqual({ cpuMilli: 1_250n, memoryBytes: 3_072n });
  });

  it('is computed in the same way for other resources', () => {
    const asking = (requests: Record<string, string>, more: Partial<Container> = {}): Container =>
      container('1', '1Ki', { resources: { requests: { cpu: '1', ...requests } }, ...more });
    expect(computeOtherRequests({ containers: [container('1')] }).size).toBe(0);
    const others = computeOtherRequests({
      containers: [
        asking({ 'ephemeral-storage': '1Ki', 'example.com/gpu': '2' }),
        asking({ 'ephemeral-storage': '1Ki' }),
      ],
      initContainers: [asking({ 'ephemeral-storage': '10Ki' }), asking({ 'hugepages-2Mi': '0' }, SIDECAR)],
      overhead: { 'ephemeral-storage': '1' },
    });
    expect([...others].sort()).toEqual([
      ['ephemeral-storage', 10_241n],
      ['example.com/gpu', 2n],
    ]);
    expect(
      ['example.com/gpu', 'ephemeral-storage', 'kubernetes.io/x', 'a.kubernetes.io/x'].map(
        isExtendedResource,
      ),
    ).toEqual([...[true, false, false, false]]);
  });

  it('is nothing for a pod without requests', () => {
    expect(computePodRequests({ containers: [{ name: 'c', image: 'i' }] })).toEqual({
      cpuMilli: 0n,
      memoryBytes: 0n,
    });
  });
});

it("a pod's limit of a resource is the maximum of what runs at the same time, if any container has one", () => {
  const limited = (text?: string, more: Partial<Container> = {}): Container => ({
    ...{ name: 'c', image: 'i', ...more },
    ...(text !== undefined && { resources: { limits: { 'ephemeral-storage': text } } }),
  });
  const limitOf = (containers: Container[], initContainers: Container[] = [], overhead = {}) =>
    computeOtherLimit({ containers, initContainers, overhead }, 'ephemeral-storage');
  expect(limitOf([limited()])).toBeUndefined();
  expect(limitOf([limited()], [], { 'ephemeral-storage': '5' })).toBeUndefined();
  expect(limitOf([limited('1'), limited()], [limited('2', SIDECAR)], { 'ephemeral-storage': '5' })).toBe(8n);
  expect(limitOf([limited('1')], [limited('9'), limited('2', SIDECAR)])).toBe(9n);
  expect(limitOf([limited('0')], [], { 'ephemeral-storage': '5' })).toBe(0n);
});
