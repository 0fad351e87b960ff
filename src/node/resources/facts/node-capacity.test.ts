import { expect, it } from 'vitest';
import { computeResources } from '../../../cluster/node/compute-resources.js';
import { DEFAULT_HARD_THRESHOLDS, parseThresholds } from '#kube/node/eviction-thresholds.js';
import { getQuantity, toMilliUnits, toWholeUnits } from '#kube/fields/quantity.js';
import { type CapacityFacts, computeCapacity, computeWholeMachine } from './node-capacity.js';

const FACTS: CapacityFacts = { cores: 2, memoryBytes: 1_000n, maxPods: 110, podsPerCore: 0, reserved: [] };

it('is the whole machine, and as many pods as are allowed', () => {
  expect(computeCapacity(FACTS)).toEqual({
    pods: 110,
    cpuMilli: 2_000n,
    memoryBytes: 1_000n,
    others: new Map(),
  });
});

it('is bounded per core where that is less', () => {
  expect(computeCapacity({ ...FACTS, podsPerCore: 10 }).pods).toBe(20);
  expect(computeCapacity({ ...FACTS, podsPerCore: 100 }).pods).toBe(110);
});

it('is what is left after everything that is reserved', () => {
  const reserved: Record<string, string>[] = [
    { cpu: '500m', memory: '100' },
    { cpu: '1', 'ephemeral-storage': '1Gi' },
  ];
  expect(computeCapacity({ ...FACTS, reserved })).toMatchObject({
    pods: 110,
    cpuMilli: 500n,
    memoryBytes: 900n,
  });
});

it('is less than the whole machine, where nothing is reserved and huge pages count as memory', () => {
  const kept = {
    ...{ storageBytes: 500n, hugePages: new Map([[100n, 300n]]) },
    ...{ reserved: [{ cpu: '1', memory: '100' }], thresholds: parseThresholds(DEFAULT_HARD_THRESHOLDS) },
  };
  expect(computeWholeMachine({ ...FACTS, ...kept })).toEqual({
    ...{ pods: 110, cpuMilli: 2_000n, memoryBytes: 1_000n },
    others: new Map([
      ['ephemeral-storage', 500n],
      ['hugepages-100', 300n],
    ]),
  });
});

it('is nothing where more is reserved than there is', () => {
  expect(computeCapacity({ ...FACTS, reserved: [{ memory: '1Gi' }] }).memoryBytes).toBe(0n);
});

it('is what a node of a cluster says that pods may have', () => {
  const GI = 2n ** 30n;
  const reserved: Record<string, string>[] = [
    { cpu: '500m', memory: '1Gi' },
    { memory: '512Mi', 'ephemeral-storage': '2Gi' },
  ];
  const facts = {
    ...{ cores: 4, maxPods: 110, podsPerCore: 10, reserved, storageBytes: 100n * GI },
    hugePages: new Map([[2n * 2n ** 20n, GI]]),
  };
  const thresholds = parseThresholds(DEFAULT_HARD_THRESHOLDS);
  const own = computeCapacity({ ...facts, memoryBytes: 16n * GI, thresholds });
  const { allocatable } = computeResources({ ...facts, memoryBytes: 16n * GI }, thresholds);
  const told = (name: string): bigint => toWholeUnits(getQuantity(allocatable[name]!));
  expect(own.cpuMilli).toBe(toMilliUnits(getQuantity(allocatable['cpu']!)));
  expect([own.memoryBytes, BigInt(own.pods)]).toEqual([told('memory'), told('pods')]);
  const names = ['ephemeral-storage', 'hugepages-2Mi'];
  expect(own.others).toEqual(new Map(names.map((name) => [name, told(name)])));
  expect(own.memoryBytes).toBe(16n * GI - GI - GI / 2n - 100n * 2n ** 20n - GI);
});
