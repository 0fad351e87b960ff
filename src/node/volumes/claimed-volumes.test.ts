import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type PodSpec } from '#kube/pod/pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeMounts } from '#support/fakes/fake-mounts.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import { untilTrue } from '#support/until-true.js';
import { AllowedHostPaths } from './allowed-host-paths.js';
import { BoundedLooks } from './bounded-looks.js';
import { ClaimMarks } from './claim-marks.js';
import { type ClaimedPlace, ClaimedVolumes } from './claimed-volumes.js';
import { giveToGroup } from './give-to-group.js';
import { HostPath } from './host-path.js';
import { PodVolumes } from './pod-volumes.js';
import { type PodVolume } from './volume-kind.js';

const NEVER = new AbortController().signal;
const VOLUME: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
let folder: string;
let place: ClaimedPlace | undefined;
let asked: number;
let told: string[];
let volumes: ClaimedVolumes;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-claimed-'));
  [place, asked, told] = [undefined, 0, []];
  volumes = startAnew();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As an agent does that knows nothing but what is on the disk. */
function startAnew(allowed?: Pick<AllowedHostPaths, 'check' | 'open'>): ClaimedVolumes {
  return new ClaimedVolumes({
    hostPath: new HostPath({ looks: new BoundedLooks({ clock: new FakeClock() }), allowed }),
    marks: new ClaimMarks(join(folder, 'pods')),
    events: {
      record: ({ uid }, { type, reason, message }) => told.push(`${uid} ${type} ${reason}: ${message}`),
    },
    claims: {
      getClaimed: () => {
        asked++;
        return place === undefined
          ? Promise.reject(new Error('PVC default/data is not bound'))
          : Promise.resolve(place);
      },
    },
  });
}

const workOf = (spec: Partial<PodSpec> = {}, uid = 'u1'): PodVolume => ({
  ...{ pod: aSpecPod(spec, { uid }), volume: VOLUME, folder: join(folder, 'unused') },
});
const GROUP = process.getegid!();
const ofGroup = (fsGroup: number, uid = 'u1'): PodVolume => workOf({ securityContext: { fsGroup } }, uid);
const modeOf = async (path: string): Promise<string> =>
  ((await stat(join(folder, path))).mode & 0o7777).toString(8);
/** A local volume with two folders and a file in each, for nobody but its owner. */
async function makeDisk(): Promise<void> {
  place = { name: 'pv1', kind: 'local', path: join(folder, 'disk'), type: '' };
  for (const name of ['one', 'two']) {
    await mkdir(join(place.path, name), { recursive: true });
    await writeFile(join(place.path, name, 'file'), 'x', { mode: 0o600 });
  }
}
const modesOnDisk = async (): Promise<string[]> =>
  (await Promise.all(['disk/one/file', 'disk/two/file'].map(modeOf))).sort();
/** Has an agent killed once it has gone through so many folders. */
function killedAfter(folders: number): AbortSignal {
  let left = folders;
  return Object.assign(new AbortController().signal, {
    throwIfAborted: () => {
      if (left-- === 0) throw new Error('killed');
    },
  });
}

it('a claimed folder of the node is mounted as it is, and asked for once', async () => {
  const work = workOf();
  await expect(volumes.setUp(work, NEVER)).rejects.toThrow('PVC default/data is not bound');
  expect(await volumes.isReady(work)).toBe(false);
  place = { name: 'pv1', kind: 'local', path: join(folder, 'disk'), type: '' };
  await expect(volumes.setUp(work, NEVER)).rejects.toThrow(/disk/);
  await mkdir(place.path);
  await volumes.setUp(work, NEVER);
  const before = asked;
  await volumes.setUp(work, NEVER);
  expect([asked, volumes.hostPathOf(work)]).toEqual([before, place.path]);
  volumes.forget(work.pod.metadata.uid);
  expect(await volumes.isReady(work)).toBe(false);
});

it('a claimed hostPath is made where its type says so', async () => {
  place = { name: 'pv1', kind: 'hostPath', path: join(folder, 'made'), type: 'DirectoryOrCreate' };
  await volumes.setUp(ofGroup(GROUP), NEVER);
  expect((await stat(place.path)).isDirectory()).toBe(true);
});

it('a local volume is the group’s, with all that is in it', async () => {
  place = { name: 'pv1', kind: 'local', path: join(folder, 'disk'), type: '' };
  await mkdir(join(place.path, 'below'), { recursive: true });
  await writeFile(join(folder, 'outside'), 'x', { mode: 0o600 });
  await writeFile(join(place.path, 'below/file'), 'x', { mode: 0o600 });
  await symlink(join(folder, 'outside'), join(place.path, 'link'));
  await volumes.setUp(ofGroup(GROUP), NEVER);
  expect(await modeOf('disk/below/file')).toBe('660');
  expect((await stat(join(folder, 'disk'))).mode & 0o2070).toBe(0o2070);
  expect((await stat(join(folder, 'disk/below'))).mode & 0o2070).toBe(0o2070);
  expect(await modeOf('outside')).toBe('600');
});

it('a local volume that was given to a pod is left to it by every agent after that', async () => {
  await makeDisk();
  await volumes.setUp(ofGroup(GROUP), NEVER);
  expect(await modesOnDisk()).toEqual(['660', '660']);
  await chmod(join(folder, 'disk/one/file'), 0o600);
  await startAnew().setUp(ofGroup(GROUP), NEVER);
  expect(await modesOnDisk()).toEqual(['600', '660']);
});

it('a local volume that was given away in part when an agent was killed is given again', async () => {
  await makeDisk();
  await expect(volumes.setUp(ofGroup(GROUP), killedAfter(2))).rejects.toThrow('killed');
  expect(await modesOnDisk()).toEqual(['600', '660']);
  await startAnew().setUp(ofGroup(GROUP), NEVER);
  expect(await modesOnDisk()).toEqual(['660', '660']);
});

it('nobody takes a local volume for given before there is a mark that is whole', async () => {
  await makeDisk();
  await expect(volumes.setUp(ofGroup(GROUP), killedAfter(3))).rejects.toThrow('killed');
  await mkdir(join(folder, 'pods/u1/volume-claims'), { recursive: true });
  await writeFile(join(folder, 'pods/u1/volume-claims/data.tmp'), join(folder, 'disk'));
  await writeFile(join(folder, 'pods/stray'), '');
  await chmod(join(folder, 'disk/one/file'), 0o600);
  await startAnew().setUp(ofGroup(GROUP, 'u2'), NEVER);
  expect(await modesOnDisk()).toEqual(['660', '660']);
  await chmod(join(folder, 'disk/one/file'), 0o600);
  await rm(join(folder, 'pods/u2'), { recursive: true });
  await startAnew().setUp(ofGroup(GROUP), NEVER);
  expect(await modesOnDisk()).toEqual(['660', '660']);
});

it('a local volume of a pod that runs already, as one that a kubelet left, is never given again', async () => {
  await makeDisk();
  await volumes.setUp({ ...ofGroup(GROUP), isRunning: true }, NEVER);
  expect(await modesOnDisk()).toEqual(['600', '600']);
  // Nor when nothing of it happens to run, as between two starts of its container.
  await startAnew().setUp(ofGroup(GROUP), NEVER);
  expect(await modesOnDisk()).toEqual(['600', '600']);
});

it('a pod that runs goes on where no mark can be made', async () => {
  await makeDisk();
  await mkdir(join(folder, 'pods/u1'), { recursive: true });
  await symlink(join(folder, 'none'), join(folder, 'pods/u1/volume-claims'));
  await volumes.setUp({ ...ofGroup(GROUP), isRunning: true }, NEVER);
  expect(volumes.hostPathOf(ofGroup(GROUP))).toBe(place!.path);
  expect(await modesOnDisk()).toEqual(['600', '600']);
});

it('a local volume that another pod has stays as that has it, and a pod of another group gets an event', async () => {
  await makeDisk();
  await volumes.setUp(ofGroup(GROUP, 'first'), NEVER);
  await chmod(join(folder, 'disk/one/file'), 0o600);
  const after = startAnew();
  await after.setUp(ofGroup(GROUP, 'same'), NEVER);
  expect(told).toEqual([]);
  await after.setUp(ofGroup(GROUP + 1, 'other'), NEVER);
  const warning = `other Warning AlreadyMountedVolume: The requested fsGroup is ${GROUP + 1}, but the volume pv1 has GID ${GROUP}. The volume may not be shareable.`;
  expect(told).toEqual([warning]);
  expect(await modesOnDisk()).toEqual(['600', '660']);
  expect((await stat(join(folder, 'disk'))).gid).toBe(GROUP);
  await startAnew().setUp(ofGroup(GROUP + 1, 'other'), NEVER);
  expect(told).toEqual([warning]);
});

it('a local volume that a pod of no group has is given to none', async () => {
  await makeDisk();
  await volumes.setUp(workOf({}, 'first'), NEVER);
  await volumes.setUp(ofGroup(GROUP, 'second'), NEVER);
  expect(await modesOnDisk()).toEqual(['600', '600']);
});

it('of pods that come at once one after the other has its turn at a folder', async () => {
  await makeDisk();
  for (let count = 0; count < 50; count++) await mkdir(join(folder, 'disk/one', String(count)));
  let hasBegun = false;
  const throwIfAborted = (): void => {
    hasBegun = true;
  };
  const watched = Object.assign(new AbortController().signal, { throwIfAborted });
  const first = volumes.setUp(ofGroup(GROUP, 'first'), watched);
  await untilTrue(() => hasBegun);
  const impatient = new AbortController();
  const gone = volumes.setUp(ofGroup(GROUP + 1, 'gone'), impatient.signal);
  const second = volumes.setUp(ofGroup(GROUP + 1, 'second'), NEVER);
  impatient.abort(new Error('gone'));
  await expect(gone).rejects.toThrow('gone');
  await Promise.all([first, second]);
  expect(told.map((line) => line.split(':')[0])).toEqual(['second Warning AlreadyMountedVolume']);
  expect((await stat(join(folder, 'disk'))).gid).toBe(GROUP);
});

it('once a pod is torn down, its local volume is anybody’s again', async () => {
  await makeDisk();
  const mounts = new FakeMounts();
  const clock = new FakeClock();
  const all = new PodVolumes({
    ...{ podsFolder: join(folder, 'pods'), mounter: mounts, readMounts: mounts.read, clock },
    ...{ looks: new BoundedLooks({ clock }), events: { record: () => undefined } },
    kinds: { persistentVolumeClaim: volumes },
  });
  const securityContext = { fsGroup: GROUP };
  const pods = ['u1', 'u2'].map((uid) => aSpecPod({ securityContext, volumes: [VOLUME] }, { uid }));
  for (const pod of [pods[0]!, pods[1]!, pods[0]!]) {
    await all.setUp(pod, NEVER);
    expect(await modesOnDisk()).toEqual(['660', '660']);
    expect(await all.findPods()).toEqual([pod.metadata.uid]);
    await chmod(join(folder, 'disk/one/file'), 0o600);
    await all.setUp(pod, NEVER);
    expect(await modesOnDisk()).toEqual(['600', '660']);
    await all.tearDown(pod);
    expect(await all.findPods()).toEqual([]);
  }
});

it('a folder that is the group’s already is left as it is, where that is the policy', async () => {
  const group = process.getegid!();
  const path = join(folder, 'disk');
  await mkdir(path);
  await giveToGroup(path, group, { policy: 'Always', signal: NEVER });
  await writeFile(join(path, 'file'), 'x');
  await chmod(join(path, 'file'), 0o600);
  await giveToGroup(path, group, { policy: 'OnRootMismatch', signal: NEVER });
  expect((await stat(join(path, 'file'))).mode & 0o777).toBe(0o600);
  await giveToGroup(path, group, { policy: 'Always', signal: NEVER });
  expect((await stat(join(path, 'file'))).mode & 0o777).toBe(0o660);
  expect(await readFile(join(path, 'file'), 'utf8')).toBe('x');
});

it('on a node with allowed paths the folder that was opened is given away, whatever takes its place', async () => {
  await makeDisk();
  const outside = join(folder, 'outside');
  await mkdir(outside);
  await chmod(outside, 0o700);
  const paths = new AllowedHostPaths([{ path: folder, readOnly: false }]);
  let opened = 0;
  volumes = startAnew({
    check: (path) => paths.check(path),
    open: async (wanted) => {
      const held = await paths.open(wanted);
      // The first one is for the check of the type.
      if (++opened === 2) {
        await rename(wanted.path, join(folder, 'aside'));
        await symlink(outside, wanted.path);
      }
      return held;
    },
  });
  await volumes.setUp(ofGroup(GROUP), NEVER);
  expect([await modeOf('outside'), await modeOf('aside/one/file')]).toEqual(['700', '660']);
});

it('nothing outside of a volume is given away, however fast its folders are swapped for links', async () => {
  const [path, outside] = [join(folder, 'disk'), join(folder, 'outside')];
  const [swapped, aside] = [join(path, 'swapped'), join(path, 'aside')];
  await mkdir(swapped, { recursive: true });
  await mkdir(outside, { mode: 0o700 });
  for (const each of [swapped, outside]) await writeFile(join(each, 'file'), 'x', { mode: 0o600 });
  let isOver = false;
  const swap = async (): Promise<void> => {
    while (!isOver) {
      await rename(swapped, aside);
      await symlink(outside, swapped);
      await unlink(swapped);
      await rename(aside, swapped);
    }
  };
  const swapping = swap();
  try {
    for (let times = 0; times < 200; times++) {
      await giveToGroup(path, process.getegid!(), { policy: 'Always', signal: NEVER });
    }
  } finally {
    isOver = true;
    await swapping;
  }
  expect((await stat(outside)).mode & 0o7777).toBe(0o700);
  expect((await stat(join(outside, 'file'))).mode & 0o7777).toBe(0o600);
});
