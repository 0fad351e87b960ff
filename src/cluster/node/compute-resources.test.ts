import { describe, expect, it } from 'vitest';
import { computeResources, type ResourceFacts } from './compute-resources.js';
import { DEFAULT_HARD_THRESHOLDS, parseThresholds } from '#kube/node/eviction-thresholds.js';

const GI = 1024n ** 3n;
const MACHINE: ResourceFacts = {
  ...{ cores: 4, memoryBytes: 8n * GI, storageBytes: 100n * GI, hugePages: new Map() },
  ...{ maxPods: 110, podsPerCore: 0, reserved: [] },
};

describe('what a node has', () => {
  it('is told as it is, and without what its thresholds keep back for pods', () => {
    expect(computeResources(MACHINE, parseThresholds(DEFAULT_HARD_THRESHOLDS))).toEqual({
      capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '4', memory: '8092Mi', pods: '110', 'ephemeral-storage': '90Gi' },
    });
  });

  it('is less what is reserved for the system and the agent, and never below nothing', () => {
    const reserved: Record<string, string>[] = [
      { cpu: '500m', memory: '1Gi', 'ephemeral-storage': '200Gi' },
      { cpu: '1', memory: '1Gi' },
    ];
    expect(computeResources({ ...MACHINE, reserved }, []).allocatable).toEqual({
      ...{ cpu: '2500m', memory: '6Gi', pods: '110', 'ephemeral-storage': '0' },
    });
  });

  it('has memory in huge pages apart, also sizes of which there are none', () => {
    const hugePages = new Map([
      [2n * 1024n ** 2n, GI],
      [GI, 0n],
    ]);
    expect(computeResources({ ...MACHINE, hugePages }, [])).toMatchObject({
      capacity: { memory: '8Gi', 'hugepages-2Mi': '1Gi', 'hugepages-1Gi': '0' },
      allocatable: { memory: '7Gi', 'hugepages-2Mi': '1Gi', 'hugepages-1Gi': '0' },
    });
  });

  it('has pods by its cores where that was said, and no storage where its disk cannot be read', () => {
    const { capacity } = computeResources({ ...MACHINE, podsPerCore: 10, storageBytes: undefined }, []);
    expect(capacity).toEqual({ cpu: '4', memory: '8Gi', pods: '40' });
  });
});
