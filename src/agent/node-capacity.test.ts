import { expect, it } from 'vitest';
import { type CapacityFacts, computeCapacity } from './node-capacity.js';

const FACTS: CapacityFacts = { cores: 2, memoryBytes: 1_000, maxPods: 110, podsPerCore: 0, reserved: [] };

it('is the whole machine, and as many pods as are allowed', () => {
  expect(computeCapacity(FACTS)).toEqual({ pods: 110, cpuMilli: 2_000n, memoryBytes: 1_000n });
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
  expect(computeCapacity({ ...FACTS, reserved })).toEqual({ pods: 110, cpuMilli: 500n, memoryBytes: 900n });
});

it('is nothing where more is reserved than there is', () => {
  expect(computeCapacity({ ...FACTS, reserved: [{ memory: '1Gi' }] }).memoryBytes).toBe(0n);
});
