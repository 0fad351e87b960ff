import { expect, it } from 'vitest';
import { type CgroupIo } from '../cgroups/cgroup-io.js';
import { CgroupLayout } from '../cgroups/cgroup-layout.js';
import { readGroupLimits } from './usage-limits.js';

function layout(version: 1 | 2, files: Readonly<Record<string, string>>): CgroupLayout {
  const read = (path: string): string | undefined => files[path.replace('/cg/pod/', '')];
  return new CgroupLayout({ read } as unknown as CgroupIo, [
    { version, mountpoint: '/cg', controllers: ['cpu', 'memory'] },
  ]);
}

const V1 = {
  ...{ 'cpu.cfs_period_us': '100000\n', 'cpu.cfs_quota_us': '50000\n', 'cpu.shares': '512\n' },
  ...{ 'memory.limit_in_bytes': '4096\n', 'memory.memsw.limit_in_bytes': '8192\n' },
};
const V2 = {
  ...{ 'cpu.max': '50000 100000\n', 'cpu.weight': '39\n' },
  ...{ 'memory.max': '4096\n', 'memory.swap.max': '4096\n' },
};

it('reads the limits in force, identically from both versions', () => {
  const limits = { cpuPeriod: 100_000n, cpuQuota: 50_000n, memoryBytes: 4096n, memoryAndSwapBytes: 8192n };
  expect(readGroupLimits(layout(1, V1), '/pod')).toEqual({ ...limits, cpuShares: 512n });
  expect(readGroupLimits(layout(2, V2), '/pod')).toEqual({ ...limits, cpuShares: 998n });
});

it('has zero for no limit', () => {
  const none = { cpuPeriod: 100_000n, cpuQuota: 0n, memoryBytes: 0n, memoryAndSwapBytes: 0n };
  const most = '9223372036854771712\n';
  const v1 = {
    ...V1,
    ...{ 'cpu.cfs_quota_us': '-1\n', 'memory.limit_in_bytes': most, 'memory.memsw.limit_in_bytes': most },
  };
  expect(readGroupLimits(layout(1, v1), '/pod')).toMatchObject(none);
  const v2 = { ...V2, 'cpu.max': 'max 100000\n', 'memory.max': 'max\n', 'memory.swap.max': 'max\n' };
  expect(readGroupLimits(layout(2, v2), '/pod')).toMatchObject(none);
  const noSwap = readGroupLimits(layout(2, { ...V2, 'memory.swap.max': '0\n' }), '/pod');
  expect(noSwap.memoryAndSwapBytes).toBe(4096n);
});

it('knows nothing if the kernel does not report it', () => {
  const nothing = {
    ...{ cpuPeriod: undefined, cpuQuota: undefined, cpuShares: undefined },
    ...{ memoryBytes: undefined, memoryAndSwapBytes: undefined },
  };
  expect(readGroupLimits(layout(1, {}), '/pod')).toEqual(nothing);
  expect(readGroupLimits(layout(2, {}), '/pod')).toEqual(nothing);
});

it.each([
  ['1', 2n],
  ['100', 2597n],
  ['10000', 262_144n],
  ['10001', undefined],
])('converts the weight %s to %s shares', (weight, shares) => {
  expect(readGroupLimits(layout(2, { 'cpu.weight': weight }), '/pod').cpuShares).toBe(shares);
});
