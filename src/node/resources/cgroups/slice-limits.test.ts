import { afterEach, describe, expect, it } from 'vitest';
import { type CgroupVersions, FolderCgroups } from '#support/fakes/folder-cgroups.js';
import { GroupLimits, type Limits } from './group-limits.js';
import { GroupTrees } from './group-trees.js';
import { SliceLimits } from './slice-limits.js';

const NEVER = new AbortController().signal;
const NAME = 'pods-kubepods-podp1.slice';
const PATH = `/pods.slice/pods-kubepods.slice/${NAME}`;
const NOTHING: Limits = {
  ...{ cpuQuotaUs: undefined, cpuPeriodUs: 100_000n, memoryBytes: undefined, pids: undefined },
};
const ALL: Limits = { cpuQuotaUs: 50_000n, cpuPeriodUs: 100_000n, memoryBytes: 1_000_000n, pids: 64n };
const WORDS = `CPUWeight=39 CPUQuota=50% MemoryMax=1000000 TasksMax=64`;

let folders: FolderCgroups | undefined;
afterEach(() => folders?.[Symbol.asyncDispose]());

async function makeHarness(versions: CgroupVersions = 'v2') {
  const trees = await FolderCgroups.make(versions);
  folders = trees;
  const groups = new GroupTrees(trees.mountinfo, trees);
  const harness = { set: [] as string[], failure: undefined as Error | undefined };
  const open = (): SliceLimits =>
    new SliceLimits({
      ...{ limits: new GroupLimits(trees.mountinfo, trees), trees: groups },
      setSlice: (slice, properties) => {
        if (harness.failure !== undefined) return Promise.reject(harness.failure);
        harness.set.push([slice, ...properties].join(' '));
        return Promise.resolve();
      },
    });
  /** As systemd does, with the properties that were set. */
  const apply = async (files: Readonly<Record<string, string>>): Promise<void> => {
    await groups.make(PATH);
    for (const [file, text] of Object.entries(files)) await trees.set('unified', PATH, file, text);
  };
  return Object.assign(harness, { trees, groups, open, apply, slices: open() });
}

describe('a slice of a pod', () => {
  it('gets its share and its limits before it is there, once', async () => {
    const { slices, set } = await makeHarness();
    for (let time = 0; time < 3; time++) await slices.set(PATH, 1_024n, ALL, 'settle', NEVER);
    expect(set).toEqual([`${NAME} ${WORDS}`]);
    await slices.set(PATH, 2n, NOTHING, 'settle', NEVER);
    expect(set.slice(1)).toEqual([`${NAME} CPUWeight=1 CPUQuota= MemoryMax=infinity TasksMax=infinity`]);
  });

  it('gets whole percent of a processor, and no less than it may have', async () => {
    const { slices, set } = await makeHarness();
    await slices.set(PATH, 2n, { ...NOTHING, cpuQuotaUs: 12_300n }, 'settle', NEVER);
    await slices.set(PATH, 2n, { ...NOTHING, cpuQuotaUs: 5_000n, cpuPeriodUs: 20_000n }, 'settle', NEVER);
    expect(set.map((words) => words.split(' ').slice(2, 4).join(' '))).toEqual([
      ...['CPUQuota=13% MemoryMax=infinity', 'CPUQuota=25% CPUQuotaPeriodSec=20000us'],
    ]);
  });

  it('that an earlier agent has limited in this way stays as it is', async () => {
    const { slices, set, apply } = await makeHarness();
    const files = { 'memory.max': '1000000', 'pids.max': '64', 'cpu.weight': '39' };
    await apply({ ...files, 'cpu.max': '50000 100000' });
    await slices.set(PATH, 1_024n, ALL, 'grow', NEVER);
    await slices.set(PATH, 1_024n, ALL, 'settle', NEVER);
    expect(set).toEqual([]);
    await slices.set(PATH, 1_024n, { ...ALL, pids: 65n }, 'settle', NEVER);
    expect(set).toEqual([`${NAME} ${WORDS.replace('64', '65')}`]);
  });

  it('grows before its containers, and shrinks after them', async () => {
    const { slices, set, apply } = await makeHarness();
    await slices.set(PATH, 1_024n, ALL, 'settle', NEVER);
    await apply({ 'memory.max': '1000000', 'pids.max': '64', 'cpu.max': '50000 100000' });
    const other: Limits = { ...ALL, cpuQuotaUs: 80_000n, memoryBytes: 500_000n, pids: undefined };
    await slices.set(PATH, 1_024n, other, 'grow', NEVER);
    await slices.set(PATH, 1_024n, other, 'settle', NEVER);
    expect(set.slice(1)).toEqual([
      `${NAME} CPUWeight=39 CPUQuota=80% MemoryMax=1000000 TasksMax=infinity`,
      `${NAME} CPUWeight=39 CPUQuota=80% MemoryMax=500000 TasksMax=infinity`,
    ]);
  });

  it('is not limited below what it uses: the kernel would kill', async () => {
    const { slices, set, apply } = await makeHarness();
    await apply({ 'memory.current': '600000', 'memory.max': '1000000' });
    const less = { ...ALL, memoryBytes: 500_000n };
    await expect(slices.set(PATH, 2n, less, 'settle', NEVER)).rejects.toThrow(
      'attempting to set pod memory limit (500000) below current usage (600000)',
    );
    expect(set).toEqual([]);
  });

  it('is set again after systemd has refused it, and forgotten with it', async () => {
    const harness = await makeHarness();
    const { slices, set } = harness;
    harness.failure = new Error('Access denied');
    await expect(slices.set(PATH, 1_024n, ALL, 'settle', NEVER)).rejects.toThrow('Access denied');
    harness.failure = undefined;
    await slices.set(PATH, 1_024n, ALL, 'settle', NEVER);
    await slices.forget(PATH, NEVER);
    expect(set).toEqual([`${NAME} ${WORDS}`, NAME]);
    harness.failure = new Error('Access denied');
    await slices.forget(PATH, NEVER);
  });
});

it.each(['v2', 'hybrid'] as const)(
  'a slice above pods weighs as much as they do together (%s)',
  async (versions) => {
    const { slices, set, groups } = await makeHarness(versions);
    const above = '/pods.slice/pods-kubepods.slice';
    for (const [pod, shares] of [['a', 512n] as const, ['b', 2_048n] as const]) {
      await groups.make(`${above}/pods-kubepods-pod${pod}.slice`);
      await groups.weigh(`${above}/pods-kubepods-pod${pod}.slice`, shares);
    }
    const sum = versions === 'v2' ? 20 + 79 : 98;
    expect(await groups.summedWeight(above)).toBe(sum);
    for (let time = 0; time < 2; time++) await slices.weigh(above, sum, NEVER);
    expect(set).toEqual([`pods-kubepods.slice CPUWeight=${sum}`]);
    await groups.weigh(above, 2n);
    await slices.weigh(above, 1, NEVER);
    expect(set.at(-1)).toBe('pods-kubepods.slice CPUWeight=1');
  },
);
