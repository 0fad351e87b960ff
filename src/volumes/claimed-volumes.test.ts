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
import { type PodSpec } from '../model/pod.js';
import { type Volume } from '../model/volume.js';
import { FakeClock } from '../testing/fake-clock.js';
import { aSpecPod } from '../testing/node-pods.js';
import { BoundedLooks } from './bounded-looks.js';
import { type ClaimedPlace, ClaimedVolumes } from './claimed-volumes.js';
import { giveToGroup } from './give-to-group.js';
import { HostPath } from './host-path.js';
import { type PodVolume } from './volume-kind.js';

const NEVER = new AbortController().signal;
const VOLUME: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
let folder: string;
let place: ClaimedPlace | undefined;
let asked: number;
let volumes: ClaimedVolumes;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-claimed-'));
  [place, asked] = [undefined, 0];
  volumes = new ClaimedVolumes({
    hostPath: new HostPath({ looks: new BoundedLooks({ clock: new FakeClock() }) }),
    claims: {
      getClaimed: () => {
        asked++;
        return place === undefined
          ? Promise.reject(new Error('PVC default/data is not bound'))
          : Promise.resolve(place);
      },
    },
  });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const workOf = (spec: Partial<PodSpec> = {}): PodVolume => ({
  ...{ pod: aSpecPod(spec), volume: VOLUME, folder: join(folder, 'unused') },
});

it('a claimed folder of the node is mounted as it is, and asked for once', async () => {
  const work = workOf();
  await expect(volumes.setUp(work, NEVER)).rejects.toThrow('PVC default/data is not bound');
  expect(await volumes.isReady(work)).toBe(false);
  place = { kind: 'local', path: join(folder, 'disk'), type: '' };
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
  place = { kind: 'hostPath', path: join(folder, 'made'), type: 'DirectoryOrCreate' };
  await volumes.setUp(workOf({ securityContext: { fsGroup: process.getegid!() } }), NEVER);
  expect((await stat(place.path)).isDirectory()).toBe(true);
});

it('a local volume is the group’s, with all that is in it', async () => {
  const group = process.getegid!();
  place = { kind: 'local', path: join(folder, 'disk'), type: '' };
  await mkdir(join(place.path, 'below'), { recursive: true });
  await writeFile(join(folder, 'outside'), 'x', { mode: 0o600 });
  await writeFile(join(place.path, 'below/file'), 'x', { mode: 0o600 });
  await symlink(join(folder, 'outside'), join(place.path, 'link'));
  await volumes.setUp(workOf({ securityContext: { fsGroup: group } }), NEVER);
  const modeOf = async (path: string): Promise<string> =>
    ((await stat(join(folder, path))).mode & 0o7777).toString(8);
  expect(await modeOf('disk/below/file')).toBe('660');
  expect((await stat(join(folder, 'disk'))).mode & 0o2070).toBe(0o2070);
  expect((await stat(join(folder, 'disk/below'))).mode & 0o2070).toBe(0o2070);
  expect(await modeOf('outside')).toBe('600');
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
