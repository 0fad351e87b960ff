import { expect, it } from 'vitest';
import { aSpecContainer, aSpecPod } from '#support/builders/node-pods.js';
import { computeMemoryQos, type MemoryQos } from './memory-qos.js';

const MIB = 2n ** 20n;
const QOS: MemoryQos = { isReserved: true, throttlingFactor: 0.9, allocatableBytes: 1_000n * MIB };

const filesOf = (
  amounts: { readonly requests?: Record<string, string>; readonly limits?: Record<string, string> },
  memoryQos: MemoryQos = QOS,
) => {
  const container = aSpecContainer({ resources: amounts });
  const pod = aSpecPod({ containers: [container] });
  return computeMemoryQos(pod, container, { memoryQos, pageSizeBytes: 4096 });
};
const all = { cpu: '1', memory: '512Mi' };

it('keeps what a guaranteed pod requests in any case, and does not slow it down', () => {
  expect(filesOf({ requests: all, limits: all })).toEqual({
    ...{ 'memory.min': String(512n * MIB), 'memory.low': '0', 'memory.high': 'max' },
  });
});

it('keeps what a burstable pod requests as far as possible, and slows it down before its limit', () => {
  expect(filesOf({ requests: { memory: '100Mi' }, limits: { memory: '200Mi' } })).toEqual({
    ...{ 'memory.min': '0', 'memory.low': String(100n * MIB), 'memory.high': String(190n * MIB) },
  });
});

it('takes what all pods may use where there is no limit, in whole pages', () => {
  expect(filesOf({ requests: { memory: '100Mi' } })['memory.high']).toBe(String(910n * MIB));
  const high = BigInt(filesOf({}, { ...QOS, allocatableBytes: 1_000_001n })['memory.high']!);
  expect(high).toBe(897_024n);
  expect(high % 4096n).toBe(0n);
});

it('does not slow down what requests as much as its limit, or all that there is', () => {
  expect(filesOf({ requests: { memory: '100Mi' }, limits: { memory: '100Mi' } })['memory.high']).toBe('max');
  expect(filesOf({ requests: { memory: '2Gi' } })['memory.high']).toBe('max');
  expect(filesOf({}, { ...QOS, allocatableBytes: 0n })['memory.high']).toBe('max');
});

it('takes back what was set before where it is switched off', () => {
  const off: MemoryQos = { ...QOS, isReserved: false, throttlingFactor: undefined };
  expect(filesOf({ requests: all, limits: all }, off)).toEqual({
    ...{ 'memory.min': '0', 'memory.low': '0', 'memory.high': 'max' },
  });
});
