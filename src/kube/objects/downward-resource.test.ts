import { expect, it } from 'vitest';
import { type Container } from '../container/container.js';
import { resourceValue, selectContainer } from './downward-resource.js';
import { type Pod } from '../pod/pod.js';

const FACTS = {
  allocatable: { cpuMilli: 3_500n, memoryBytes: 8_000_000_001n, ephemeralStorageBytes: 1_000_000n },
};
const FULL: Container = {
  name: 'full',
  image: 'i',
  resources: {
    limits: { cpu: '1500m', memory: '100Mi', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '4Mi' },
    requests: { cpu: '1m', memory: '1', 'ephemeral-storage': '1500m', 'hugepages-2Mi': '4Mi' },
  },
};
const BARE: Container = { name: 'bare', image: 'i' };

it.each([
  ['limits.cpu', undefined, '2'],
  ['limits.cpu', '0', '2'],
  ['limits.cpu', '1', '2'],
  ['limits.cpu', '1m', '1500'],
  ['requests.cpu', '1', '1'],
  ['requests.cpu', '1m', '1'],
  ['limits.memory', undefined, '104857600'],
  ['limits.memory', '1Mi', '100'],
  ['limits.memory', '1M', '105'],
  ['limits.memory', '1Gi', '1'],
  ['requests.memory', '1Ei', '1'],
  ['limits.ephemeral-storage', '1Ki', '1048576'],
  ['requests.ephemeral-storage', '1', '2'],
  ['limits.hugepages-2Mi', '1Mi', '4'],
])('%s in %s is rounded up to %s', (resource, divisor, value) => {
  const selector = divisor === undefined ? { resource } : { resource, divisor };
  expect(resourceValue(FULL, selector, FACTS)).toBe(value);
});

it.each([
  ['limits.cpu', '1', '4'],
  ['limits.cpu', '1m', '3500'],
  ['limits.memory', '1', '8000000001'],
  ['limits.memory', '1k', '8000001'],
  ['limits.ephemeral-storage', '1', '1000000'],
  ['limits.hugepages-2Mi', '1', '0'],
  ['requests.cpu', '1m', '0'],
  ['requests.memory', '1', '0'],
  ['requests.ephemeral-storage', '1', '0'],
])('%s in %s of a container without any is %s', (resource, divisor, value) => {
  expect(resourceValue(BARE, { resource, divisor }, FACTS)).toBe(value);
  const zero = { ...BARE, resources: { limits: { cpu: '0', memory: '0' } } };
  expect(resourceValue(zero, { resource, divisor }, FACTS)).toBe(value);
});

it('the size of an unknown disk is 0', () => {
  const allocatable = { cpuMilli: 1n, memoryBytes: 1n };
  expect(resourceValue(BARE, { resource: 'limits.ephemeral-storage' }, { allocatable })).toBe('0');
});

it.each(['limits', 'limits.', 'cpu', 'limits.gpu', 'used.cpu'])('%s is not a resource', (resource) => {
  expect(() => resourceValue(FULL, { resource }, FACTS)).toThrow(RangeError);
});

it('refers to its own container by default', () => {
  const spec = { containers: [FULL], initContainers: [BARE] };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec };
  expect(selectContainer(pod, { resource: 'limits.cpu' }, BARE)).toBe(BARE);
  expect(selectContainer(pod, { resource: 'limits.cpu', containerName: 'full' }, BARE)).toBe(FULL);
  expect(selectContainer(pod, { resource: 'limits.cpu', containerName: 'bare' })).toBe(BARE);
  expect(selectContainer(pod, { resource: 'limits.cpu', containerName: 'gone' }, BARE)).toBeUndefined();
});
