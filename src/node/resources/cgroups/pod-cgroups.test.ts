import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toCgroupNames } from '../../runtime/config/pod-cgroup-names.js';
import { ANNOTATIONS } from '#watch';
import { aSpecContainer, aSpecPod } from '#support/builders/node-pods.js';
import { GroupTrees } from './group-trees.js';
import { PodloopError } from '#base/errors/errors.js';
import {
  NEVER,
  type PodCgroupsHarness as Bench,
  PodCgroupsHarnesses,
  podThatAsksFor,
  sandboxWith,
} from '#support/harness/pod-cgroups-harness.js';

const benches = new PodCgroupsHarnesses();
afterEach(() => benches[Symbol.asyncDispose]());
const makeHarness = benches.make;

/** As a runtime does: in every tree. */
async function makeGroups(bench: Bench, path: string): Promise<void> {
  for (const tree of ['cpu', 'memory', 'cpuset']) {
    let at = `${bench.trees.root}/${tree}`;
    for (const name of toCgroupNames(path)) {
      at += `/${name}`;
      await bench.trees.makeGroup(at).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
    }
  }
}

const BURSTABLE = '/podloop/ab/kubepods/burstable';
const BEST_EFFORT = '/podloop/ab/kubepods/besteffort';

describe('the cgroups of pods', () => {
  it('weigh what pods ask for of the CPU, on version 1', async () => {
    const bench = await makeHarness('hybrid');
    expect(await bench.prepare(podThatAsksFor('p1', '500m'))).toBe(`${BURSTABLE}/podp1`);
    expect(await bench.prepare(podThatAsksFor('p2', '2'))).toBe(`${BURSTABLE}/podp2`);
    expect(await bench.prepare(podThatAsksFor('p3'))).toBe(`${BEST_EFFORT}/podp3`);
    await bench.cleanUp();
    const shares = (group: string): string | undefined => bench.trees.show('cpu', group, 'cpu.shares');
    expect([`${BURSTABLE}/podp1`, `${BURSTABLE}/podp2`, BURSTABLE, BEST_EFFORT].map(shares)).toEqual([
      ...['512', '2048', '2560', '2'],
    ]);
    expect(shares('/')).toBe('1024');
  });

  it('weigh the same on version 2, and hand down the cpu controller', async () => {
    const bench = await makeHarness('v2');
    await bench.prepare(podThatAsksFor('p1', '500m'));
    await bench.prepare(podThatAsksFor('p2', '2'));
    await bench.prepare(podThatAsksFor('p3'));
    await bench.cleanUp();
    const weight = (group: string): string | undefined => bench.trees.show('unified', group, 'cpu.weight');
    expect([`${BURSTABLE}/podp1`, `${BURSTABLE}/podp2`, BURSTABLE, BEST_EFFORT].map(weight)).toEqual([
      ...['20', '79', '99', '1'],
    ]);
  });

  it('keep the memory that pods request, on version 2, until they are gone', async () => {
    const bench = await makeHarness('v2', {}, true);
    const request = (memory: string) => ({
      containers: [aSpecContainer({ resources: { requests: { memory } } })],
    });
    const pod = aSpecPod(request('1Mi'), { uid: 'p1' });
    const path = await bench.prepare(pod);
    const low = (group: string): string | undefined => bench.trees.show('unified', group, 'memory.low');
    const groups = [path, BURSTABLE, '/podloop/ab/kubepods', '/podloop/ab', '/podloop'];
    expect(groups.map(low)).toEqual(Array(5).fill(String(2 ** 20)));
    await bench.cgroups.settle(
      aSpecPod(request('2Mi'), { uid: 'p1' }),
      sandboxWith({ [ANNOTATIONS.cgroupParent]: path }),
    );
    expect(groups.map(low)).toEqual(Array(5).fill(String(2 ** 21)));
    await bench.prepare(podThatAsksFor('p2', '1'));
    bench.wanted.delete('p1');
    await bench.cleanUp();
    expect(groups.slice(1).map(low)).toEqual(Array(4).fill('0'));
  });

  it('are limited all together where new pods go, before a pod has its group and again with each clean-up', async () => {
    const bench = await makeHarness('v2');
    const own = '/podloop /podloop/ab /podloop/ab/kubepods';
    await bench.prepare(podThatAsksFor('p1', '500m'));
    expect(bench.allTogether).toEqual([own]);
    await bench.cleanUp();
    expect(bench.allTogether).toEqual([own, own]);
    bench.wanted.delete('p1');
    await bench.cleanUp();
    expect(bench.allTogether).toContain('forget /podloop/ab/kubepods');

    const shared = await makeHarness('v2', { root: toCgroupNames('/pods') });
    shared.driver = 'systemd';
    await shared.prepare(podThatAsksFor('p1', '500m'));
    expect(shared.allTogether).toEqual(['/pods.slice/pods-kubepods.slice']);

    const off = await makeHarness('v2', { enabled: false });
    await off.prepare(podThatAsksFor('p1', '500m'));
    await off.cleanUp();
    expect(off.allTogether.filter((each) => !each.startsWith('forget'))).toEqual([]);
  });

  it('have together what their limit leaves, where new pods go', async () => {
    const bench = await makeHarness('v2');
    expect(bench.cgroups.memoryRoom()).toBeUndefined();
    await bench.prepare(podThatAsksFor('p1', '500m'));
    expect(bench.cgroups.memoryRoom()).toBeUndefined();
    await bench.trees.set('unified', '/podloop/ab/kubepods', 'memory.max', '1000');
    expect(bench.cgroups.memoryRoom()).toEqual({ capacity: 1_000n, available: 1_000n });
    const off = await makeHarness('v2', { enabled: false });
    expect(off.cgroups.memoryRoom()).toBeUndefined();
  });

  it('go with their pods, from all trees, with what a runtime has left empty in them', async () => {
    const bench = await makeHarness('hybrid');
    await makeGroups(bench, `${await bench.prepare(podThatAsksFor('p1', '1'))}/container`);
    await bench.prepare(podThatAsksFor('p2'));
    bench.wanted.delete('p1');
    await bench.cleanUp();
    expect(await bench.trees.groups('memory')).toEqual([
      '/podloop',
      '/podloop/ab',
      '/podloop/ab/kubepods',
      BURSTABLE,
    ]);
    expect(await bench.trees.groups('cpu')).toContain(`${BEST_EFFORT}/podp2`);
    bench.wanted.delete('p2');
    await bench.cleanUp();
    for (const tree of ['cpu', 'memory', 'cpuset']) expect(await bench.trees.groups(tree)).toEqual([]);
  });

  it('stay as long as a process is in them, however deep', async () => {
    const bench = await makeHarness('v1');
    const path = `${await bench.prepare(podThatAsksFor('p1'))}/container`;
    await makeGroups(bench, path);
    await bench.trees.set('memory', path, 'cgroup.procs', '77');
    bench.wanted.delete('p1');
    await bench.cleanUp();
    expect(await bench.trees.groups('cpu')).toContain(path);
    expect(bench.trees.killed).toEqual([]);
    bench.trees.leave(77);
    await bench.cleanUp();
    expect(await bench.trees.groups('cpu')).toEqual([]);
    expect(await bench.trees.groups('memory')).toEqual([]);
  });

  it('that an earlier agent has left go, too', async () => {
    const before = await makeHarness('v1');
    await makeGroups(before, `${BEST_EFFORT}/podold`);
    await before.cleanUp();
    expect(await before.trees.groups('memory')).toEqual([]);
  });

  it('below the agent’s own root go with it once all pods are below another', async () => {
    const bench = await makeHarness('v1', { root: toCgroupNames('/other') });
    await makeGroups(bench, `${BEST_EFFORT}/podp1`);
    await bench.prepare(podThatAsksFor('p1'));
    await bench.cleanUp();
    expect(await bench.trees.groups('memory')).toEqual([]);
    expect(await bench.trees.groups('cpu')).toEqual([
      ...['/other', '/other/kubepods', '/other/kubepods/besteffort', '/other/kubepods/besteffort/podp1'],
    ]);
  });

  it('leave the group of a former class of service once it is empty', async () => {
    const bench = await makeHarness('v1');
    await bench.prepare(podThatAsksFor('p1'));
    await bench.prepare(podThatAsksFor('p1', '1'));
    await bench.cleanUp();
    const groups = await bench.trees.groups('cpu');
    expect(groups).toContain(`${BURSTABLE}/podp1`);
    expect(groups).not.toContain(`${BEST_EFFORT}/podp1`);
  });

  it('below a root that others have, too, go only if they are ours, and nothing above them goes', async () => {
    const root = toCgroupNames('/');
    const own: string[] = [];
    const bench = await makeHarness('v1', { root, ownUids: () => own });
    await makeGroups(bench, `${BEST_EFFORT}/podbefore`);
    for (const uid of ['theirs', 'ours', 'adopted'])
      await makeGroups(bench, `/kubepods/besteffort/pod${uid}`);
    expect(await bench.prepare(podThatAsksFor('ours'))).toBe('/kubepods/besteffort/podours');
    own.push('adopted');
    await bench.cleanUp();
    own.length = 0;
    bench.wanted.clear();
    await bench.cleanUp();
    expect(await bench.trees.groups('memory')).toEqual([
      ...['/kubepods', '/kubepods/besteffort', '/kubepods/besteffort/podtheirs'],
    ]);
  });

  it('are systemd’s own affair with its driver, and are given back when they are empty', async () => {
    const bench = await makeHarness('v1');
    bench.driver = 'systemd';
    const parent = await bench.prepare(podThatAsksFor('a-b_c'));
    const slice = 'podloop-ab-kubepods-besteffort-poda_b_c.slice';
    expect(parent.endsWith(`/${slice}`)).toBe(true);
    expect(await bench.trees.groups('cpu')).toEqual([]);
    await makeGroups(bench, `${parent}/cri-containerd-1.scope`);
    await bench.cleanUp();
    bench.wanted.clear();
    // A scope that is there is not ours to end.
    await bench.cleanUp();
    expect(bench.stopped).toEqual([]);
    for (const tree of ['cpu', 'memory', 'cpuset']) {
      await bench.trees.removeGroup(`${bench.trees.root}/${tree}${parent}/cri-containerd-1.scope`);
    }
    await bench.cleanUp();
    expect(bench.stopped).toEqual([
      slice,
      'podloop-ab-kubepods-besteffort.slice',
      ...['podloop-ab-kubepods.slice', 'podloop-ab.slice', 'podloop.slice'],
    ]);
    expect(await bench.trees.groups('memory')).toEqual([]);
  });

  it('that are slices get their limits through systemd, before they are there, and are forgotten with their pods', async () => {
    const bench = await makeHarness('v2', { podPidsLimit: 100 });
    bench.driver = 'systemd';
    const limited = (memory: string) =>
      aSpecPod(
        { containers: [aSpecContainer({ resources: { limits: { cpu: '1', memory } } })] },
        { uid: 'p1' },
      );
    const parent = await bench.prepare(limited('1Mi'));
    const slice = 'podloop-ab-kubepods-burstable-podp1.slice';
    const words = `${slice} CPUWeight=39 CPUQuota=100%`;
    expect(bench.podSlices).toEqual([`${words} MemoryMax=${2 ** 20} TasksMax=100`]);
    const sandbox = sandboxWith({ [ANNOTATIONS.cgroupParent]: parent });
    expect(await bench.cgroups.findParent(limited('1Mi'), sandbox, NEVER)).toBe(parent);
    await bench.cgroups.grow(limited('2Mi'), sandbox);
    await bench.cgroups.settle(limited('2Mi'), sandbox);
    await bench.cgroups.settle(limited('2Mi'), sandbox);
    expect(bench.podSlices.slice(1)).toEqual([`${words} MemoryMax=${2 ** 21} TasksMax=100`]);
    bench.wanted.delete('p1');
    await bench.cleanUp();
    expect(bench.podSlices.at(-1)).toBe(slice);
  });

  it('that are slices of a class of service weigh as much as its pods do', async () => {
    const bench = await makeHarness('v2');
    bench.driver = 'systemd';
    const [one, other] = [podThatAsksFor('p1', '2'), podThatAsksFor('p2')];
    for (const pod of [one, other]) {
      const parent = await bench.prepare(pod);
      await bench.cleanUp();
      // As systemd does for the runtime.
      await new GroupTrees(bench.trees.mountinfo, bench.trees).make(parent);
      await bench.trees.set('unified', parent, 'cpu.weight', pod === one ? '79' : '1');
    }
    await bench.cleanUp();
    await bench.cleanUp();
    expect(bench.podSlices.filter((words) => !words.includes('-pod'))).toEqual([
      ...['podloop-ab-kubepods-burstable.slice CPUWeight=79'],
      ...['podloop-ab-kubepods-besteffort.slice CPUWeight=1'],
    ]);
  });

  it('that are slices are used without limits where systemd sets none, which is logged once', async () => {
    const bench = await makeHarness('v2');
    bench.driver = 'systemd';
    bench.sliceError = new Error('Access denied');
    for (const uid of ['p1', 'p2']) await bench.prepare(podThatAsksFor(uid, '2'));
    expect(bench.logger.complaints.map(({ message }) => message)).toEqual(['Limits of pods are not set']);
  });

  it('are left to the runtime where the machine does not allow them, which is logged once', async () => {
    const bench = await makeHarness('v1');
    bench.trees.onWrite = () => {
      throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    };
    expect(await bench.prepare(podThatAsksFor('p1', '2'))).toBe(`${BURSTABLE}/podp1`);
    await bench.prepare(podThatAsksFor('p2', '2'));
    const told = bench.logger.lines.filter(({ message }) => message.includes('left to the runtime'));
    expect(told.map(({ level }) => level)).toEqual(['info']);
  });

  it('are none where nobody wants them', async () => {
    const bench = await makeHarness('v1', { enabled: false });
    expect(await bench.prepare(podThatAsksFor('p1'))).toBe('');
    expect(await bench.trees.groups('cpu')).toEqual([]);
  });

  it('are removed as far as they are empty when the agent ends, and those of living pods stay', async () => {
    const bench = await makeHarness('v1');
    const lives = `${await bench.prepare(podThatAsksFor('p1'))}/container`;
    await makeGroups(bench, lives);
    await bench.prepare(podThatAsksFor('p2', '1'));
    await bench.cgroups.close();
    expect(await bench.trees.groups('cpu')).toContain(lives);
    expect(await bench.trees.groups('cpu')).not.toContain(`${BURSTABLE}/podp2`);
  });
});

it('a pod gets no group while options and runtime contradict each other', async () => {
  const bench = await makeHarness('v2');
  bench.conflict = 'it has systemd';
  await expect(bench.prepare(podThatAsksFor('p1'))).rejects.toMatchObject({ code: 'CGROUP_DRIVER_CONFLICT' });
  expect(bench.cgroups.report()).toMatchObject({ driver: 'cgroupfs', conflict: 'it has systemd' });
  const without = await makeHarness('v2', { enabled: false });
  without.conflict = 'it has systemd';
  expect(await without.prepare(podThatAsksFor('p1'))).toBe('');
  expect(await without.cgroups.learn(new Error('refused'))).toBe(false);
});

describe('a sandbox that is there', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await makeHarness('v1');
  });

  it('keeps the parent that is written on it, and its pod is weighed again', async () => {
    const parent = `${BEST_EFFORT}/podp1`;
    const sandbox = sandboxWith({ 'podloop.dev/cgroup-parent': parent });
    expect(await bench.cgroups.findParent(podThatAsksFor('p1', '1'), sandbox, NEVER)).toBe(parent);
    expect(bench.trees.show('cpu', parent, 'cpu.shares')).toBe('1024');
  });

  it('keeps the one that systemd has for it', async () => {
    bench.driver = 'systemd';
    const pod = podThatAsksFor('a-b_c');
    const parent = await bench.prepare(pod);
    const sandbox = sandboxWith({ 'podloop.dev/cgroup-parent': parent });
    expect(await bench.cgroups.findParent(pod, sandbox, NEVER)).toBe(parent);
  });

  it('takes no group of others for that of its pod, whatever is written on it', async () => {
    const pod = podThatAsksFor('p1', '1');
    for (const written of [
      '',
      '/system.slice',
      '/system.slice/podp1',
      `${BEST_EFFORT}/podp2`,
      '/podloop/ab/kubepods/../../../system.slice',
      '/podloop/ab/kubepods/../../../system.slice/podp1',
      'podloop-ab-kubepods-podp1.slice',
    ]) {
      const sandbox = sandboxWith({ 'podloop.dev/cgroup-parent': written });
      expect(await bench.cgroups.findParent(pod, sandbox, NEVER)).toBe('/told-by-the-runtime');
      await bench.cgroups.grow(pod, sandbox);
      await bench.cgroups.settle(pod, sandbox);
    }
    for (const tree of ['cpu', 'memory']) expect(await bench.trees.groups(tree)).toEqual([]);
  });

  it('keeps the one that the runtime reports, where somebody else has made it', async () => {
    const pod = podThatAsksFor('p1', '1');
    expect(await bench.cgroups.findParent(pod, sandboxWith({}), NEVER)).toBe('/told-by-the-runtime');
    expect(await bench.trees.groups('cpu')).toEqual([]);
  });
});

it('problems of limits are logged once each, also when they take turns', async () => {
  let calls = 0;
  const limits = {
    set: (): Promise<readonly string[]> =>
      Promise.reject(
        calls++ % 2 === 0
          ? new PodloopError('PLATFORM_UNSUPPORTED', 'no cpu')
          : new PodloopError('CGROUP_DRIVER_CONFLICT', 'no memory'),
      ),
    memoryRoomOf: () => undefined,
  };
  const bench = await makeHarness('v1', { limits });
  for (let pod = 0; pod < 6; pod++) await bench.prepare(podThatAsksFor(`p${pod}`, '1'));
  expect(calls).toBe(6);
  expect(bench.logger.lines.map(({ fields }) => fields['err'])).toEqual(['no cpu', 'no memory']);
});
