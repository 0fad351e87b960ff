import { expect, it } from 'vitest';
import { LinuxContainerResources } from '../../watch/cri/generated/runtime/v1/cri.js';
import { mergeResources } from './merge-resources.js';

const resources = (fields: Partial<LinuxContainerResources>): LinuxContainerResources =>
  LinuxContainerResources.fromPartial(fields);

it('changes what is set and keeps the rest', () => {
  const before = resources({ cpuShares: 512n, cpuQuota: 10_000n, cpusetCpus: '0', oomScoreAdj: -5n });
  expect(mergeResources(before, resources({ cpuQuota: -1n, cpusetCpus: '1' }))).toEqual(
    resources({ cpuShares: 512n, cpuQuota: -1n, cpusetCpus: '1', oomScoreAdj: -5n }),
  );
  expect(mergeResources(undefined, resources({ cpuShares: 2n }))).toEqual(resources({ cpuShares: 2n }));
});

it('adds entries of huge pages and of unified', () => {
  const before = resources({
    hugepageLimits: [{ pageSize: '2MB', limit: 0n }],
    unified: { 'pids.max': '1', 'memory.high': '2' },
  });
  const change = resources({
    hugepageLimits: [
      { pageSize: '2MB', limit: 4n },
      { pageSize: '1GB', limit: 0n },
    ],
    unified: { 'pids.max': '9' },
  });
  expect(mergeResources(before, change)).toEqual(
    resources({
      hugepageLimits: change.hugepageLimits,
      unified: { 'pids.max': '9', 'memory.high': '2' },
    }),
  );
});

it('lets a limit of memory overtake an older limit of memory and swap', () => {
  const before = resources({ memoryLimitInBytes: 10n, memorySwapLimitInBytes: 10n });
  expect(mergeResources(before, resources({ memoryLimitInBytes: 20n })).memorySwapLimitInBytes).toBe(0n);
  expect(mergeResources(before, resources({ memoryLimitInBytes: -1n })).memorySwapLimitInBytes).toBe(0n);
  expect(mergeResources(before, resources({ memoryLimitInBytes: 5n })).memorySwapLimitInBytes).toBe(10n);
});
