import { afterEach, describe, expect, it } from 'vitest';
import { type NodePod } from './node-pod.js';
import { toCgroupNames } from '../../node/runtime/config/pod-cgroup-names.js';
import { aSpecContainer, aSpecPod } from '#support/builders/node-pods.js';
import {
  NEVER,
  type PodCgroupsHarness as Bench,
  PodCgroupsHarnesses,
  sandboxWith,
} from '#support/harness/pod-cgroups-harness.js';

const benches = new PodCgroupsHarnesses();
afterEach(() => benches[Symbol.asyncDispose]());
const makeHarness = benches.make;

const BURSTABLE = '/podloop/ab/kubepods/burstable';

describe('the controllers of cgroup v2', () => {
  const CONTROLLERS = ['cpu', 'memory', 'pids', 'cpuset', 'hugetlb'];
  const limited = (uid: string): NodePod =>
    aSpecPod(
      {
        containers: [
          aSpecContainer({
            resources: { requests: { cpu: '1' }, limits: { cpu: '1', memory: '64Mi' } },
          }),
        ],
      },
      { uid },
    );
  const controllersOf = (bench: Bench, group: string): string[] =>
    (bench.trees.show('unified', group, 'cgroup.controllers') ?? '').split(' ').filter((name) => name !== '');
  /** Has all the controllers of the fake machine, which lacks io. */
  const isWhole = (bench: Bench, group: string): void => {
    expect(controllersOf(bench, group).toSorted()).toEqual(CONTROLLERS.toSorted());
  };
  const whole = async (): Promise<Bench> => {
    const bench = await makeHarness('v2', { podPidsLimit: 64 });
    await bench.trees.set('unified', '/', 'cgroup.controllers', `${CONTROLLERS.join(' ')} io`);
    return bench;
  };

  it('are all enabled in the group of a pod, which has its limits', async () => {
    const bench = await makeHarness('v2', { podPidsLimit: 64 });
    const path = await bench.prepare(limited('p1'));
    isWhole(bench, path);
    expect(
      ['memory.max', 'cpu.max', 'pids.max'].map((file) => bench.trees.show('unified', path, file)),
    ).toEqual(['67108864', '100000 100000', '64']);
  });

  // Who created how much of the path: nobody, a runtime, an older podloop, systemd.
  it.each(
    ['', '/podloop', '/podloop/ab', '/podloop/ab/kubepods', BURSTABLE, `${BURSTABLE}/podp1`].flatMap((made) =>
      [[], ['cpu'], ['memory', 'pids']].map((handed) => [made, handed] as const),
    ),
  )('are enabled where "%s" was created by another program, which delegated %j', async (made, handed) => {
    const bench = await makeHarness('v2');
    let at = '';
    for (const name of toCgroupNames(made)) {
      for (const each of handed) {
        await bench.trees.write(`${bench.trees.root}/unified${at}/cgroup.subtree_control`, `+${each}`);
      }
      at += `/${name}`;
      await bench.trees.makeGroup(`${bench.trees.root}/unified${at}`);
    }
    const path = await bench.prepare(limited('p1'));
    isWhole(bench, path);
    expect(bench.trees.show('unified', path, 'memory.max')).toBe('67108864');
    expect(bench.cgroups.report().problems.map(({ what }) => what)).toEqual(['io']);
  });

  it('are added to the group of a running pod that an older podloop had made without them', async () => {
    const bench = await makeHarness('v2');
    for (const group of [
      '/podloop',
      '/podloop/ab',
      '/podloop/ab/kubepods',
      BURSTABLE,
      `${BURSTABLE}/podp1`,
    ]) {
      await bench.trees.makeGroup(`${bench.trees.root}/unified${group}`);
    }
    const sandbox = sandboxWith({ 'podloop.dev/cgroup-parent': `${BURSTABLE}/podp1` });
    await bench.cgroups.findParent(limited('p1'), sandbox, NEVER);
    isWhole(bench, `${BURSTABLE}/podp1`);
    await bench.cgroups.settle(limited('p1'), sandbox);
    expect(bench.trees.show('unified', `${BURSTABLE}/podp1`, 'memory.max')).toBe('67108864');
  });

  it.each(CONTROLLERS)('are reported if the machine lacks %s, and the others are in force', async (name) => {
    const bench = await makeHarness('v2');
    const others = CONTROLLERS.filter((each) => each !== name);
    await bench.trees.set('unified', '/', 'cgroup.controllers', `${others.join(' ')} io`);
    const cgroups = bench.open();
    const path = await cgroups.prepare(limited('p1'));
    await cgroups.prepare(limited('p2'));
    expect(controllersOf(bench, path).toSorted()).toEqual([...others, 'io'].toSorted());
    expect(bench.trees.show('unified', path, 'memory.max')).toBe(name === 'memory' ? undefined : '67108864');
    expect(cgroups.report().problems).toEqual([
      {
        what: name,
        error: expect.stringMatching(/is not in cgroup\.controllers of the topmost cgroup$/) as string,
        remedy: expect.stringContaining(`cgroup_enable=${name}`) as string,
        isNeeded: ['cpu', 'memory', 'pids'].includes(name),
      },
    ]);
    const said = bench.logger.lines.filter(({ message }) => message === 'Cgroups of pods lack a controller');
    expect(said).toHaveLength(1);
  });

  it.each([
    [
      'EBUSY',
      'memory',
      '/podloop',
      /has processes of its own/,
      /Move the processes .*\/podloop\/cgroup\.procs/,
    ],
    ['EACCES', 'cpuset', '/', /this user may not write/, /as root, or have root delegate it: Delegate=/],
    [
      'EPERM',
      'cpu',
      '/podloop/ab',
      /this user may not write/,
      /"echo \+cpu > \/sys\/fs\/cgroup\/podloop\/ab\/cgroup/,
    ],
    ['EROFS', 'pids', '/', /mounted read-only/, /remount,rw/],
    ['EOPNOTSUPP', 'memory', '/podloop/ab/kubepods', /threaded mode/, /domain mode/],
    ['EINVAL', 'cpu', '/', /the kernel answers EINVAL/, /dmesg/],
  ])('are reported if the kernel answers %s for %s in %s', async (code, name, group, error, remedy) => {
    const bench = await whole();
    const file = `${bench.trees.root}/unified${group === '/' ? '' : group}/cgroup.subtree_control`;
    bench.trees.onWrite = (path, text) => {
      if (path === file && text === `+${name}`) throw Object.assign(new Error(code), { code });
    };
    const cgroups = bench.open();
    const path = await cgroups.prepare(limited('p1'));
    await cgroups.prepare(limited('p2'));
    expect(controllersOf(bench, path).toSorted()).toEqual(
      [...CONTROLLERS, 'io'].filter((each) => each !== name).toSorted(),
    );
    const { problems } = cgroups.report();
    expect(problems.map(({ what }) => what)).toEqual([name]);
    expect(problems[0]?.error).toMatch(error);
    expect(problems[0]?.remedy).toMatch(remedy);
    const said = bench.logger.lines.filter(({ message }) => message === 'Cgroups of pods lack a controller');
    expect(said.map(({ level }) => level)).toEqual([name === 'cpuset' ? 'info' : 'warn']);
    // As if somebody has done what the remedy says.
    bench.trees.onWrite = () => undefined;
    await cgroups.prepare(limited('p3'));
    expect(cgroups.report().problems).toEqual([]);
  });

  it('may be present without a write to the groups above, as in a subtree that was delegated to a user', async () => {
    const bench = await makeHarness('v2');
    const unified = `${bench.trees.root}/unified`;
    for (const each of ['cpu', 'memory', 'pids']) {
      await bench.trees.write(`${unified}/cgroup.subtree_control`, `+${each}`);
    }
    await bench.trees.makeGroup(`${unified}/user`);
    bench.trees.onWrite = (path) => {
      if (path === `${unified}/cgroup.subtree_control`) {
        throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
      }
    };
    const cgroups = bench.open({ root: toCgroupNames('/user') });
    const path = await cgroups.prepare(limited('p1'));
    expect(bench.trees.show('unified', path, 'memory.max')).toBe('67108864');
    expect(cgroups.report().problems.map(({ what, isNeeded }) => [what, isNeeded])).toEqual([
      ['io', false],
      ['cpuset', false],
      ['hugetlb', false],
    ]);
  });

  it('are enabled in the slices that systemd has made for a runtime, if they are missing', async () => {
    const bench = await makeHarness('v2');
    bench.driver = 'systemd';
    const path = await bench.prepare(limited('p1'));
    // There is no slice before there is a sandbox.
    await bench.cleanUp();
    expect(await bench.trees.groups('unified')).toEqual([]);
    let at = `${bench.trees.root}/unified`;
    for (const name of toCgroupNames(path)) {
      for (const each of ['cpu', 'memory', 'pids']) {
        await bench.trees.write(`${at}/cgroup.subtree_control`, `+${each}`);
      }
      at += `/${name}`;
      await bench.trees.makeGroup(at);
    }
    await bench.cleanUp();
    isWhole(bench, path);
    expect(bench.cgroups.report().problems.map(({ what }) => what)).toEqual(['io']);
    // Only systemd may write limits in a slice.
    expect(bench.trees.show('unified', path, 'memory.max')).toBe('max');
  });

  it('are reported for each slice that lacks them, until it has them or is gone', async () => {
    const bench = await whole();
    bench.driver = 'systemd';
    const slices = [await bench.prepare(limited('p1')), await bench.prepare(limited('p2'))];
    const unified = `${bench.trees.root}/unified`;
    for (const slice of slices) {
      let at = unified;
      for (const name of toCgroupNames(slice)) {
        at += `/${name}`;
        await bench.trees.makeGroup(at).catch(() => undefined);
      }
    }
    const [first = ''] = slices;
    const folder = toCgroupNames(first).join('/');
    const above = `${unified}/${folder.slice(0, folder.lastIndexOf('/'))}`;
    // Only the first slice is refused: the second is checked after it.
    let asked = 0;
    bench.trees.onWrite = (path, text) => {
      const isRefused = path === `${above}/cgroup.subtree_control` && text === '+memory' && asked++ === 0;
      if (isRefused) throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    await bench.cleanUp();
    expect(asked).toBeGreaterThan(1);
    const what = (): string[] =>
      bench.cgroups
        .report()
        .problems.map((problem) => problem.what)
        .filter((name) => name !== 'io');
    expect(what()).toEqual(['memory']);
    await bench.trees.removeGroup(`${unified}/${folder}`);
    await bench.cleanUp();
    expect(what()).toEqual([]);
  });

  it('are not reported if no group can be made at all, which is reported instead', async () => {
    const bench = await makeHarness('v2');
    bench.trees.makeGroup = () => Promise.reject(Object.assign(new Error('EACCES'), { code: 'EACCES' }));
    await bench.prepare(limited('p1'));
    expect(bench.cgroups.report().problems).toEqual([
      expect.objectContaining({ what: 'groups', isNeeded: false }) as object,
    ]);
  });
});
