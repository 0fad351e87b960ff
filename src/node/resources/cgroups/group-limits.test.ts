import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type CgroupVersions, FolderCgroups } from '#support/fakes/folder-cgroups.js';
import { GroupLimits, type Limits } from './group-limits.js';

let folders: FolderCgroups | undefined;
afterEach(() => folders?.[Symbol.asyncDispose]());

const GROUP = '/pods/p1';
const NOTHING: Limits = {
  ...{ cpuQuotaUs: undefined, cpuPeriodUs: 100_000n, memoryBytes: undefined, pids: undefined },
};
const ALL: Limits = { cpuQuotaUs: 50_000n, cpuPeriodUs: 100_000n, memoryBytes: 1_000_000n, pids: 64n };

async function makeHarness(versions: CgroupVersions) {
  const trees = await FolderCgroups.make(versions);
  folders = trees;
  const limits = new GroupLimits(trees.mountinfo, trees);
  const isV2 = versions === 'v2';
  const show = (): (string | undefined)[] =>
    isV2
      ? ['cpu.max', 'memory.max', 'pids.max'].map((file) => trees.show('unified', GROUP, file))
      : [
          trees.show('cpu', GROUP, 'cpu.cfs_quota_us'),
          trees.show('memory', GROUP, 'memory.limit_in_bytes'),
          trees.show('pids', GROUP, 'pids.max'),
        ];
  const use = (bytes: number): Promise<void> =>
    isV2
      ? trees.set('unified', GROUP, 'memory.current', String(bytes))
      : trees.set('memory', GROUP, 'memory.usage_in_bytes', String(bytes));
  return { trees, limits, show, use };
}

describe.each(['hybrid', 'v2'] as const)('the limits of a group (%s)', (versions) => {
  const quota = (us: number): string => (versions === 'v2' ? `${us} 100000` : String(us));
  const none = versions === 'v2' ? ['max 100000', 'max', 'max'] : ['-1', '-1', 'max'];

  it('are set, and taken back', async () => {
    const { limits, show } = await makeHarness(versions);
    await limits.set(GROUP, ALL, 'settle');
    expect(show()).toEqual([quota(50_000), '1000000', '64']);
    await limits.set(GROUP, NOTHING, 'settle');
    expect(show()).toEqual(none);
  });

  it('make no group where there is none to set', async () => {
    const { trees, limits } = await makeHarness(versions);
    await limits.set(GROUP, NOTHING, 'settle');
    expect(trees.writes).toEqual([]);
  });

  it('grow before those in the group do, and shrink after them', async () => {
    const { limits, show } = await makeHarness(versions);
    await limits.set(GROUP, ALL, 'settle');
    const other: Limits = { ...ALL, cpuQuotaUs: 80_000n, memoryBytes: 500_000n, pids: undefined };
    await limits.set(GROUP, other, 'grow');
    expect(show()).toEqual([quota(80_000), '1000000', 'max']);
    await limits.set(GROUP, other, 'settle');
    expect(show()).toEqual([quota(80_000), '500000', 'max']);
    await limits.set(GROUP, { ...other, cpuQuotaUs: 10_000n }, 'grow');
    expect(show()[0]).toBe(quota(80_000));
  });

  it('are written once', async () => {
    const { trees, limits } = await makeHarness(versions);
    await limits.set(GROUP, ALL, 'settle');
    const { length } = trees.writes;
    await limits.set(GROUP, ALL, 'settle');
    expect(trees.writes).toHaveLength(length);
  });

  it('of memory are not lowered below what is in use', async () => {
    const { limits, show, use } = await makeHarness(versions);
    await limits.set(GROUP, ALL, 'settle');
    await use(600_000);
    await expect(limits.set(GROUP, { ...ALL, memoryBytes: 500_000n }, 'settle')).rejects.toThrow(
      'attempting to set pod memory limit (500000) below current usage (600000)',
    );
    expect(show()[1]).toBe('1000000');
  });

  it('of memory may be below what is in use where that is files which the kernel can take back', async () => {
    const { trees, limits, show, use } = await makeHarness(versions);
    const less = { ...ALL, memoryBytes: 500_000n };
    await limits.set(GROUP, ALL, 'settle');
    await use(600_000);
    await expect(limits.set(GROUP, less, 'reclaim')).rejects.toThrow(
      'a limit of 500000 bytes is below what /pods/p1 uses (600000): the kernel would kill',
    );
    const tree = versions === 'v2' ? 'unified' : 'memory';
    await trees.set(tree, GROUP, 'memory.stat', 'inactive_file 200000\ntotal_inactive_file 200000\n');
    await limits.set(GROUP, less, 'reclaim');
    expect(show()[1]).toBe('500000');
    // It was there before, whatever is in use.
    await use(900_000);
    await limits.set(GROUP, less, 'reclaim');
  });

  it('are set although the group is removed while they are written, once', async () => {
    const { trees, limits, show } = await makeHarness(versions);
    let writes = 0;
    trees.onWrite = (path) => {
      if (!path.includes('/p1/') || ++writes !== 2) return;
      rmSync(dirname(path), { recursive: true });
      throw Object.assign(new Error('ENODEV'), { code: 'ENODEV' });
    };
    await limits.set(GROUP, ALL, 'settle');
    expect(show()).toEqual([quota(50_000), '1000000', '64']);
    trees.onWrite = (path) => {
      if (path.includes('/p1/')) throw Object.assign(new Error('ENODEV'), { code: 'ENODEV' });
    };
    await expect(limits.set(GROUP, { ...ALL, pids: 65n }, 'settle')).rejects.toThrow('ENODEV');
  });
});

it.each(['hybrid', 'v2'] as const)('shows what is left of a limit of memory (%s)', async (versions) => {
  const { trees, limits, use } = await makeHarness(versions);
  expect(limits.memoryRoomOf(GROUP)).toBeUndefined();
  await limits.set(GROUP, { ...ALL, memoryBytes: undefined }, 'settle');
  expect(limits.memoryRoomOf(GROUP)).toBeUndefined();
  await limits.set(GROUP, ALL, 'settle');
  await use(700_000);
  const [tree, stat] =
    versions === 'v2'
      ? ['unified', 'inactive_file 200000\n']
      : ['memory', 'inactive_file 1\ntotal_inactive_file 200000\n'];
  await trees.set(tree, GROUP, 'memory.stat', `anon 9\n${stat}file 8\n`);
  expect(limits.memoryRoomOf(GROUP)).toEqual({ capacity: 1_000_000n, available: 500_000n });
  // Numbers that are read one after the other may not fit together.
  await use(100_000);
  expect(limits.memoryRoomOf(GROUP)?.available).toBe(1_000_000n);
  await use(5_000_000);
  expect(limits.memoryRoomOf(GROUP)?.available).toBe(0n);
});

it('a machine without controllers has no limits, and fails nothing', async () => {
  const trees = await FolderCgroups.make('v2');
  folders = trees;
  await trees.set('unified', '/', 'cgroup.controllers', '');
  await new GroupLimits(trees.mountinfo, trees).set(GROUP, ALL, 'settle');
  expect(trees.writes).toEqual([]);
});

it('keeps memory for a group on version 2, and writes only what differs', async () => {
  const { trees, limits } = await makeHarness('v2');
  const kept = { minBytes: 4_096n, lowBytes: 8_192n };
  expect(await limits.protect(GROUP, kept)).toBe(false);
  await limits.set(GROUP, ALL, 'settle');
  expect(limits.protectionOf(GROUP)).toEqual({ minBytes: 0n, lowBytes: 0n });
  const before = trees.writes.length;
  expect(await limits.protect(GROUP, kept)).toBe(true);
  expect(await limits.protect(GROUP, { ...kept, lowBytes: 0n })).toBe(true);
  expect(trees.writes.slice(before).map((write) => write.slice(write.lastIndexOf('/') + 1))).toEqual([
    ...['memory.min=4096', 'memory.low=8192', 'memory.low=0'],
  ]);
  expect(limits.protectionOf(GROUP)).toEqual({ minBytes: 4_096n, lowBytes: 0n });
  await trees.set('unified', GROUP, 'memory.min', 'max');
  expect(limits.protectionOf(GROUP)?.minBytes).toBeGreaterThan(2n ** 50n);
});

it('keeps no memory for a group that is removed meanwhile, and fails nothing', async () => {
  const { trees, limits } = await makeHarness('v2');
  await limits.set(GROUP, ALL, 'settle');
  trees.onWrite = () => {
    throw Object.assign(new Error('ENODEV'), { code: 'ENODEV' });
  };
  expect(await limits.protect(GROUP, { minBytes: 4_096n, lowBytes: 0n })).toBe(false);
});

it('cannot keep memory for a group on version 1', async () => {
  const { limits } = await makeHarness('hybrid');
  await limits.set(GROUP, ALL, 'settle');
  expect(await limits.protect(GROUP, { minBytes: 1n, lowBytes: 1n })).toBe(false);
  expect(limits.protectionOf(GROUP)).toBeUndefined();
});
