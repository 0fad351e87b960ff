import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LinuxContainerResources, PodSandboxConfig } from '../../watch/cri/generated/runtime/v1/cri.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type CgroupVersions, FolderCgroups } from '#support/fakes/folder-cgroups.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { Cgroups } from './cgroups.js';

const PREFIX = 'podloop-test';
const POD = `/podloop/${PREFIX}-s1`;
const CONTAINER = `${POD}/c1`;
const TREES: readonly CgroupVersions[] = ['v1', 'v2', 'hybrid'];

async function detect(folders: FolderCgroups): Promise<{ cgroups: Cgroups; clock: FakeClock }> {
  const clock = new FakeClock();
  const { mountinfo, kill, find } = folders;
  const options = { logger: SILENT_LOGGER, prefix: PREFIX, clock, io: folders, mountinfo, kill, find };
  return { cgroups: await Cgroups.detect(options), clock };
}

function config(linux: { cgroupParent?: string; resources?: { cpuShares: bigint } } = {}): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({ linux });
}

function resources(fields: Partial<LinuxContainerResources>): LinuxContainerResources {
  return LinuxContainerResources.fromPartial(fields);
}

/** Moves the clock from timer to timer until the work is done; the test's own limit ends it. */
async function drive<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const state = { done: false };
  const settled = work.finally(() => (state.done = true));
  settled.catch(() => undefined);
  while (!state.done) {
    // The trees are on a real disk: time may pass only while somebody waits for time.
    await clock.advance(clock.nextTimerInMs ?? 0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return settled;
}

describe('what a machine allows', () => {
  it.each([
    ['v1', ['memory', 'cpu', 'cpuacct', 'cpuset', 'pids', 'freezer'], ['hugetlb'], 'v1'],
    ['v2', ['cpu', 'memory', 'pids', 'cpuset', 'hugetlb'], [], 'v2'],
    ['hybrid', ['memory', 'cpu', 'cpuacct', 'cpuset', 'pids', 'freezer', 'hugetlb'], [], 'v1 and v2'],
  ] as const)('is found out by trying: %s', async (versions, controllers, missing, version) => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    expect(cgroups.describe()).toMatchObject({ version, controllers, missing, reasons: [] });
    expect(cgroups.notice).toBeUndefined();
    for (const tree of versions === 'v2' ? ['unified'] : ['memory', 'cpu']) {
      expect(await folders.groups(tree)).toEqual([]);
    }
  });

  it('leaves out the tree that may not be written, and says why', async () => {
    await using folders = await FolderCgroups.make('v1');
    const io = new Proxy(folders, {
      get: (target, name) =>
        name === 'makeGroup'
          ? (path: string) =>
              path.includes('/memory/')
                ? Promise.reject(Object.assign(new Error('EROFS'), { code: 'EROFS' }))
                : target.makeGroup(path)
          : (Reflect.get(target, name, target) as unknown),
    });
    const cgroups = await Cgroups.detect({
      logger: SILENT_LOGGER,
      prefix: PREFIX,
      io: {
        read: (path) => folders.read(path),
        write: (path, text) => folders.write(path, text),
        makeGroup: (path) => io.makeGroup(path),
        removeGroup: (path) => folders.removeGroup(path),
        children: (path) => folders.children(path),
      },
      mountinfo: folders.mountinfo,
    });
    expect(cgroups.describe().missing).toContain('memory');
    expect(cgroups.describe().reasons).toEqual([`${folders.root}/memory cannot be used: EROFS`]);
  });

  it('may be nothing: then every call does nothing, and a change of limits says so', async () => {
    const cgroups = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: PREFIX, mountinfo: '' });
    expect(cgroups.usable).toBe(false);
    expect(cgroups.describe()).toMatchObject({ version: 'none', controllers: [] });
    expect(cgroups.notice).toBe(
      'nothing limits cpu, memory, pids of containers: no file system of cgroups is mounted',
    );
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', resources({ memoryLimitInBytes: 1n }));
    expect(container.joinFiles).toEqual([]);
    expect(container.oomKilled()).toBe(false);
    expect(container.usage()).toBeUndefined();
    expect(await container.kill()).toBe(true);
    await expect(container.update(resources({ cpuShares: 2n }))).rejects.toThrow('no cgroup may be written');
    expect(await container.remove()).toBe(true);
    expect(await cgroups.removePod('s1')).toBe(true);
    expect(await cgroups.restore([])).toBe(0);
  });
});

describe.each(TREES)('groups with %s', (versions) => {
  const anchor = versions === 'v2' ? 'unified' : 'memory';

  it('are made for a pod and a container in every tree, and removed from every one', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', undefined);
    expect(await folders.groups(anchor)).toEqual(['/podloop', POD, CONTAINER]);
    expect(container.exists).toBe(true);
    for (const file of container.joinFiles) expect(folders.read(file)).toBe('');
    expect(container.joinFiles[0]).toBe(join(folders.root, anchor, CONTAINER, 'cgroup.procs'));
    await folders.join(CONTAINER, 4711);
    expect(await container.members()).toEqual([4711]);
    folders.leave(4711);
    expect(await container.remove()).toBe(true);
    expect(await container.remove()).toBe(true);
    expect(await cgroups.removePod('s1')).toBe(true);
    expect(await cgroups.removePod('s1')).toBe(true);
    expect(await folders.groups(anchor)).toEqual([]);
  });

  it('stand below the cgroup parent of the pod, a slice or a path, which stays if it was there', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    await folders.makeGroup(join(folders.root, anchor, 'kubepods.slice'));
    await cgroups.createPod('s1', config({ cgroupParent: 'kubepods-burstable.slice' }));
    const path = `/kubepods.slice/kubepods-burstable.slice/${PREFIX}-s1`;
    expect(await folders.groups(anchor)).toContain(path);
    expect(cgroups.findContainer('s1', 'c1').path).toBe(`${path}/c1`);
    await cgroups.removePod('s1');
    expect(await folders.groups(anchor)).toEqual(['/kubepods.slice']);
  });

  it('leave what was above them in the trees in which it was there, and nothing in the others', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    const above = ['agent', 'agent/kubepods'];
    for (const path of above) await folders.makeGroup(join(folders.root, anchor, path));
    await cgroups.createPod('s1', config({ cgroupParent: '/agent/kubepods/pod1' }));
    await cgroups.removePod('s1');
    const trees = versions === 'v2' ? ['unified'] : ['memory', 'cpu', 'pids'];
    const left = await Promise.all(trees.map((tree) => folders.groups(tree)));
    expect(left.flat()).toEqual(above.map((path) => `/${path}`));
  });

  it('are not there at all when a limit is refused', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    folders.onWrite = (path) => {
      if (path.endsWith('pids.max')) throw Object.assign(new Error('no'), { code: 'EINVAL' });
    };
    const asked = resources({ cpuShares: 100n, unified: { 'pids.max': 'lots' } });
    await expect(cgroups.createContainer('s1', 'c1', asked)).rejects.toThrow(
      'pids.max cannot be set to "lots"',
    );
    expect(await folders.groups(anchor)).toEqual(['/podloop', POD]);
  });

  it('are killed whole, with the groups below', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups, clock } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', undefined);
    await folders.join(CONTAINER, 10);
    await folders.makeGroup(join(folders.root, anchor, CONTAINER, 'inner'));
    await folders.set(anchor, `${CONTAINER}/inner`, 'cgroup.procs', '11');
    expect(await drive(clock, container.kill())).toBe(true);
    expect(await container.members()).toEqual([]);
    if (versions === 'v1') {
      expect(folders.killed).toEqual([10, 11]);
      expect(folders.writes.filter((write) => write.includes('freezer.state'))).toEqual([
        `freezer${CONTAINER}/freezer.state=FROZEN`,
        `freezer${CONTAINER}/freezer.state=THAWED`,
      ]);
    } else {
      // Who is in one tree alone is not reached by the other's kill.
      expect(folders.killed).toEqual(versions === 'v2' ? [] : [11]);
      expect(folders.writes).toContain(`unified${CONTAINER}/cgroup.kill=1`);
    }
    expect(await drive(clock, container.remove())).toBe(true);
    expect(await folders.groups(anchor)).toEqual(['/podloop', POD]);
  });

  it('are given up after ten seconds when a process will not go', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups, clock } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', undefined);
    await folders.join(CONTAINER, 10);
    folders.leave = () => undefined;
    const start = clock.monotonicMs();
    expect(await drive(clock, container.kill())).toBe(false);
    expect(clock.monotonicMs() - start).toBeGreaterThanOrEqual(10_000);
    expect(await drive(clock, container.remove())).toBe(false);
    expect(await drive(clock, cgroups.removePod('s1'))).toBe(false);
    expect(await folders.groups(anchor)).toContain(CONTAINER);
  });

  it('that are left by a crash are found again, and removed if nobody owns them', async () => {
    await using folders = await FolderCgroups.make(versions);
    const before = await detect(folders);
    const parent = { cgroupParent: '/kubepods/pod1' };
    await before.cgroups.createPod('s1', config(parent));
    await before.cgroups.createContainer('s1', 'c1', undefined);
    await before.cgroups.createContainer('s1', 'gone', undefined);
    await before.cgroups.createPod('s2', config());
    await before.cgroups.createContainer('s2', 'c2', undefined);
    await folders.join(`/podloop/${PREFIX}-s2/c2`, 77);
    await folders.makeGroup(join(folders.root, anchor, 'podloop', 'podloop-other-s2'));
    await before.cgroups.createPod('s3', config());

    const { cgroups, clock } = await detect(folders);
    const live = [
      { sandboxId: 's1', config: config(parent), containerIds: ['c1'] },
      // Its record was lost, but a container of it is known.
      { sandboxId: 's3', config: undefined, containerIds: ['c3'] },
    ];
    expect(await drive(clock, cgroups.restore(live))).toBe(2);
    expect(await folders.groups(anchor)).toEqual([
      '/kubepods',
      '/kubepods/pod1',
      `/kubepods/pod1/${PREFIX}-s1`,
      `/kubepods/pod1/${PREFIX}-s1/c1`,
      '/podloop',
      '/podloop/podloop-other-s2',
      `/podloop/${PREFIX}-s3`,
    ]);
    expect(cgroups.findContainer('s1', 'c1').exists).toBe(true);
    expect(folders.read(join(folders.root, anchor, 'podloop', 'cgroup.procs'))).toBe('');
  });

  it('that the machine does not remove keep nothing from going on, and are tried again', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups, clock } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', undefined);
    folders.onRemove = () => {
      throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
    };
    expect(await container.remove()).toBe(false);
    expect(await cgroups.removePod('s1')).toBe(false);
    expect(await drive(clock, cgroups.restore([]))).toBe(0);
    await drive(clock, cgroups.retryRemovals());
    expect(await folders.groups(anchor)).toEqual(['/podloop', POD, CONTAINER]);
    folders.onRemove = () => undefined;
    await drive(clock, cgroups.retryRemovals());
    expect(await folders.groups(anchor)).toEqual([]);
  });

  it('count what was killed for want of memory', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', undefined);
    expect(container.oomKilled()).toBe(false);
    const file = versions === 'v2' ? 'memory.events' : 'memory.oom_control';
    await folders.set(anchor, CONTAINER, file, 'oom 1\noom_kill 1\n');
    expect(container.oomKilled()).toBe(true);
    await container.remove();
    expect(container.oomKilled()).toBe(false);
  });

  it('let a pod weigh as much as its containers together, unless its weight is given', async () => {
    await using folders = await FolderCgroups.make(versions);
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const first = await cgroups.createContainer('s1', 'c1', resources({ cpuShares: 1024n }));
    await cgroups.createContainer('s1', 'c2', resources({ cpuShares: 2n }));
    const [tree, file] = versions === 'v2' ? ['unified', 'cpu.weight'] : ['cpu', 'cpu.shares'];
    expect(folders.show(tree, POD, file)).toBe(versions === 'v2' ? '101' : '1026');
    await first.remove();
    expect(folders.show(tree, POD, file)).toBe(versions === 'v2' ? '1' : '2');
    await cgroups.updatePod('s1', config({ resources: { cpuShares: 1024n } }));
    await cgroups.createContainer('s1', 'c3', resources({ cpuShares: 2048n }));
    expect(folders.show(tree, POD, file)).toBe(versions === 'v2' ? '100' : '1024');
  });
});

it('a parent that keeps a controller back is named once, with what to do, and what can be limited is', async () => {
  await using folders = await FolderCgroups.make('v2');
  const logger = new LogRecorder();
  const cgroups = await Cgroups.detect({
    ...{ logger, prefix: PREFIX, io: folders, mountinfo: folders.mountinfo },
  });
  await folders.makeGroup(`${folders.root}/unified/kubepods`);
  folders.onWrite = (path, text) => {
    const isParent = path === `${folders.root}/unified/kubepods/cgroup.subtree_control`;
    if (isParent && text === '+memory') throw Object.assign(new Error('busy'), { code: 'EBUSY' });
  };
  for (const id of ['s1', 's2']) {
    await cgroups.createPod(id, PodSandboxConfig.fromPartial({ linux: { cgroupParent: '/kubepods' } }));
    await cgroups.createContainer(id, 'c1', resources({ memoryLimitInBytes: 4096n, cpuShares: 512n }));
  }
  const group = `/kubepods/${PREFIX}-s2/c1`;
  expect(folders.show('unified', group, 'cpu.weight')).toBe('59');
  expect(folders.show('unified', group, 'memory.max')).toBeUndefined();
  const said = logger.lines.filter(({ message }) => message === 'Cgroups of pods lack a controller');
  expect(said.map(({ fields }) => fields)).toEqual([
    expect.objectContaining({ controller: 'memory', cgroup: '/kubepods' }) as object,
  ]);
});

it('a tree whose top has processes, as in a container of its own, hands nothing down, and Status says what to do', async () => {
  await using folders = await FolderCgroups.make('v2');
  folders.onWrite = (path) => {
    if (path === `${folders.root}/unified/cgroup.subtree_control`) {
      throw Object.assign(new Error('busy'), { code: 'EBUSY' });
    }
  };
  const { cgroups } = await detect(folders);
  const { controllers, reasons } = cgroups.describe();
  expect(controllers).toEqual([]);
  expect(reasons[0]).toMatch(
    /has processes of its own.*Move the processes that \/sys\/fs\/cgroup\/cgroup\.procs/,
  );
});

describe('limits', () => {
  it('become those of version 1', async () => {
    await using folders = await FolderCgroups.make('v1');
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const asked = resources({
      cpuShares: 512n,
      cpuPeriod: 50_000n,
      cpuQuota: 25_000n,
      cpusetCpus: '0-1',
      memoryLimitInBytes: 64n << 20n,
      unified: { 'pids.max': '50' },
    });
    const container = await cgroups.createContainer('s1', 'c1', asked);
    expect(folders.show('cpu', CONTAINER, 'cpu.shares')).toBe('512');
    expect(folders.show('cpu', CONTAINER, 'cpu.cfs_period_us')).toBe('50000');
    expect(folders.show('cpu', CONTAINER, 'cpu.cfs_quota_us')).toBe('25000');
    expect(folders.show('cpuset', CONTAINER, 'cpuset.cpus')).toBe('0-1');
    expect(folders.show('cpuset', CONTAINER, 'cpuset.mems')).toBe('0');
    expect(folders.show('memory', CONTAINER, 'memory.limit_in_bytes')).toBe('67108864');
    expect(folders.show('memory', CONTAINER, 'memory.memsw.limit_in_bytes')).toBe('67108864');
    expect(folders.show('pids', CONTAINER, 'pids.max')).toBe('50');
    // Raised and lowered: the kernel wants the pair in different orders.
    await container.update({ ...asked, memoryLimitInBytes: 128n << 20n });
    expect(folders.show('memory', CONTAINER, 'memory.memsw.limit_in_bytes')).toBe('134217728');
    await container.update({ ...asked, memoryLimitInBytes: 32n << 20n, memorySwapLimitInBytes: 48n << 20n });
    expect(folders.show('memory', CONTAINER, 'memory.limit_in_bytes')).toBe('33554432');
    expect(folders.show('memory', CONTAINER, 'memory.memsw.limit_in_bytes')).toBe('50331648');
  });

  it('become those of version 2', async () => {
    await using folders = await FolderCgroups.make('v2');
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const asked = resources({
      cpuShares: 1024n,
      cpuPeriod: 50_000n,
      cpuQuota: 25_000n,
      cpusetMems: '0',
      memoryLimitInBytes: 64n << 20n,
      memorySwapLimitInBytes: 96n << 20n,
      hugepageLimits: [{ pageSize: '2MB', limit: 0n }],
      unified: { 'memory.high': '1000000' },
    });
    const container = await cgroups.createContainer('s1', 'c1', asked);
    expect(folders.show('unified', CONTAINER, 'cpu.weight')).toBe('100');
    expect(folders.show('unified', CONTAINER, 'cpu.max')).toBe('25000 50000');
    expect(folders.show('unified', CONTAINER, 'cpuset.mems')).toBe('0');
    expect(folders.show('unified', CONTAINER, 'memory.max')).toBe('67108864');
    expect(folders.show('unified', CONTAINER, 'memory.swap.max')).toBe('33554432');
    expect(folders.show('unified', CONTAINER, 'hugetlb.2MB.max')).toBe('0');
    expect(folders.show('unified', CONTAINER, 'memory.high')).toBe('1000000');
    await container.update(resources({ memoryLimitInBytes: -1n, cpuQuota: -1n }));
    expect(folders.show('unified', CONTAINER, 'memory.max')).toBe('max');
    expect(folders.show('unified', CONTAINER, 'cpu.max')).toBe('max');
  });

  it.each([
    ['anonymous memory above it', '67108864', 'inactive_file 1048576\nactive_file 0\n', 33_554_432n, false],
    [
      'pages of files that the kernel can drop',
      '67108864',
      'inactive_file 40000000\nactive_file 9000000\n',
      33_554_432n,
      true,
    ],
    ['exactly as much in use', '33554432', '', 33_554_432n, true],
    ['one byte more in use', '33554433', '', 33_554_432n, false],
    ['no limit', '67108864', '', -1n, true],
    ['a group that does not say what is in use', '', '', 4_096n, true],
  ])('of memory in version 2: %s', async (_what, current, stat, memoryLimitInBytes, isTaken) => {
    await using folders = await FolderCgroups.make('v2');
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', resources({ cpuShares: 1024n }));
    await folders.set('unified', CONTAINER, 'memory.current', current);
    await folders.set('unified', CONTAINER, 'memory.stat', stat);
    const update = container.update(resources({ cpuShares: 2048n, memoryLimitInBytes }));
    if (isTaken) await update;
    else await expect(update).rejects.toThrow(`"33554432": `);
    const weight = folders.show('unified', CONTAINER, 'cpu.weight');
    expect(weight === '100').toBe(!isTaken);
  });

  it('that are refused half way are all as before', async () => {
    await using folders = await FolderCgroups.make('v1');
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const container = await cgroups.createContainer('s1', 'c1', resources({ cpuShares: 512n }));
    folders.onWrite = (path) => {
      if (path.endsWith('memory.limit_in_bytes')) throw Object.assign(new Error('in use'), { code: 'EBUSY' });
    };
    const asked = resources({ cpuShares: 2048n, cpuQuota: 1000n, memoryLimitInBytes: 4096n });
    await expect(container.update(asked)).rejects.toThrow('memory.limit_in_bytes cannot be set to "4096"');
    expect(folders.show('cpu', CONTAINER, 'cpu.shares')).toBe('512');
    expect(folders.show('cpu', CONTAINER, 'cpu.cfs_quota_us')).toBe('-1');
  });

  it.each([
    [
      'huge pages',
      { hugepageLimits: [{ pageSize: '2MB', limit: 4096n }] },
      'no writable controller "hugetlb"',
    ],
    ['a file of version 2', { unified: { 'memory.high': '1' } }, 'needs cgroup version 2'],
    ['a file of the group itself', { unified: { 'cgroup.procs': '1' } }, 'no file of a controller'],
    ['a path', { unified: { '../../memory.max': '1' } }, 'no file of a controller'],
    ['a cpuset that is none', { cpusetCpus: '0-' }, 'no cpuset'],
    ['a negative share', { cpuShares: -5n }, 'cpuShares is -5'],
    ['an absurd size', { memoryLimitInBytes: 2n ** 60n }, 'memoryLimitInBytes'],
    ['swap below memory', { memoryLimitInBytes: 8192n, memorySwapLimitInBytes: 4096n }, 'swap'],
    ['an OOM score that does not exist', { oomScoreAdj: 1001n }, 'oomScoreAdj'],
  ])('refuse %s', async (_what, fields, message) => {
    await using folders = await FolderCgroups.make('v1');
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    await expect(cgroups.createContainer('s1', 'c1', resources(fields))).rejects.toThrow(message);
    expect(await folders.groups('memory')).toEqual(['/podloop', POD]);
  });

  it('let a huge page limit of zero pass where there is no controller: agents send one for every size', async () => {
    await using folders = await FolderCgroups.make('v1');
    const { cgroups } = await detect(folders);
    await cgroups.createPod('s1', config());
    const asked = resources({ hugepageLimits: [{ pageSize: '1GB', limit: 0n }] });
    expect((await cgroups.createContainer('s1', 'c1', asked)).exists).toBe(true);
  });
});
