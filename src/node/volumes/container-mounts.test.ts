import { mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type VolumeMount } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type HostPathType } from '#kube/pod/volume.js';
import { FakeMounts } from '#support/fakes/fake-mounts.js';
import { FakeClock } from '#testing/fake-clock.js';
import { AllowedHostPaths } from './allowed-host-paths.js';
import { BoundedLooks } from './bounded-looks.js';
import { ClaimMarks } from './claim-marks.js';
import { ClaimedVolumes } from './claimed-volumes.js';
import { HostPath } from './host-path.js';
import { PodVolumes } from './pod-volumes.js';

const NEVER = new AbortController().signal;
let folder: string;
let mounts: FakeMounts;
let volumes: PodVolumes;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-allowed-')));
  await mkdir(join(folder, 'open/data'), { recursive: true });
  await mkdir(join(folder, 'closed'));
  mounts = new FakeMounts();
  const clock = new FakeClock();
  const looks = new BoundedLooks({ clock });
  const allowed = new AllowedHostPaths([{ path: join(folder, 'open'), readOnly: false }]);
  const podsFolder = join(folder, 'pods');
  const hostPath = new HostPath({ looks, allowed });
  volumes = new PodVolumes({
    ...{ podsFolder, mounter: mounts, readMounts: mounts.read, clock, looks },
    events: { record: () => undefined },
    kinds: {
      hostPath,
      persistentVolumeClaim: new ClaimedVolumes({
        ...{ hostPath, marks: new ClaimMarks(podsFolder), events: { record: () => undefined } },
        claims: {
          getClaimed: (_, { persistentVolumeClaim }) =>
            Promise.resolve({
              ...{ name: 'pv', kind: 'local', type: '' },
              path: join(folder, 'open', persistentVolumeClaim!.claimName),
            }),
        },
      }),
    },
  });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function podOf(
  source: NonNullable<NodePod['spec']['volumes']>[number],
  mount: Partial<VolumeMount>,
): NodePod {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u1' } },
    spec: {
      volumes: [source],
      containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }],
    },
  };
}
const pod = (path: string, mount: Partial<VolumeMount> = {}, type: HostPathType = ''): NodePod =>
  podOf({ name: 'v', hostPath: { path: join(folder, path), type } }, mount);
const mountsFor = (owner: NodePod): Promise<readonly { readonly hostPath: string }[]> =>
  volumes.mountsFor(owner, owner.spec.containers[0]!, { find: () => undefined });
async function start(owner: NodePod): Promise<string> {
  await volumes.setUp(owner, NEVER);
  return (await mountsFor(owner))[0]!.hostPath;
}
const target = (kind: string): string => join(folder, `pods/u1/volume-${kind}/v/c/0`);

describe('a path of the node on a node with allowed paths', () => {
  it('is mounted where only the agent can change the way to it, again for each start', async () => {
    for (let count = 0; count < 2; count++) expect(await start(pod('open/data'))).toBe(target('host-paths'));
    const bind = `rbind ${target('host-paths')} as slave`;
    expect(mounts.calls).toEqual([bind, `unmount ${target('host-paths')}`, bind]);
  });

  it('shows outside what its container mounts if it is bidirectional, until it is unmounted', async () => {
    const owner = pod('open/data', { mountPropagation: 'Bidirectional' });
    await start(owner);
    mounts.entries = mounts.entries.map((entry) => ({ ...entry, shared: true }));
    mounts.add(`${target('host-paths')}/theirs`);
    await volumes.tearDown(owner);
    expect(mounts.calls).toEqual([
      `rbind ${target('host-paths')}`,
      `make slave ${target('host-paths')}`,
      `unmount ${target('host-paths')}/theirs`,
      `unmount ${target('host-paths')}`,
    ]);
  });

  it.each(['data', 'new', 'new/deeper'])('may be mounted in part: %s', async (subPath) => {
    expect(await start(pod('open', { subPath }))).toBe(target('subpaths'));
    expect(mounts.calls).toEqual([`bind ${target('subpaths')}`]);
    expect((await stat(join(folder, 'open', subPath))).isDirectory()).toBe(true);
  });

  it.each(['file', 'socket'])('may be a %s', async (name) => {
    await writeFile(join(folder, 'open', name), '');
    await start(pod(`open/${name}`));
    expect((await stat(target('host-paths'))).isFile()).toBe(true);
  });

  it.each<[string, Partial<VolumeMount>, HostPathType]>([
    ['data', {}, ''],
    ['data', {}, 'Directory'],
    ['data', {}, 'DirectoryOrCreate'],
    ['data/new', {}, 'DirectoryOrCreate'],
    ['data/new', {}, 'FileOrCreate'],
    ['data/new', {}, ''],
    ['data', { subPath: 'new' }, ''],
    ['data', { subPath: 'link' }, ''],
    ['data', { subPath: 'new', mountPropagation: 'Bidirectional' }, ''],
    ['data', { mountPropagation: 'HostToContainer' }, ''],
    ['data', { mountPropagation: 'Bidirectional' }, ''],
  ])('is not mounted once a link has taken its place: %s %j %s', async (path, mount, type) => {
    const owner = pod(`open/${path}`, mount, type);
    await volumes.setUp(owner, NEVER);
    await rm(join(folder, 'open/data'), { recursive: true });
    await symlink('../closed', join(folder, 'open/data'));
    await expect(mountsFor(owner)).rejects.toThrow('is not allowed: ');
    expect(mounts.calls).toEqual([]);
    expect(await readdir(join(folder, 'closed'))).toEqual([]);
  });

  it('is not left by a link in a part of it, not even for another allowed folder', async () => {
    await mkdir(join(folder, 'open/other'));
    await symlink('../other', join(folder, 'open/data/link'));
    await expect(start(pod('open/data', { subPath: 'link/new' }))).rejects.toThrow('leads out of the volume');
    expect(await readdir(join(folder, 'open/other'))).toEqual([]);
  });

  it('is held likewise if a claim names it', async () => {
    const owner = podOf({ name: 'v', persistentVolumeClaim: { claimName: 'data' } }, {});
    expect(await start(owner)).toBe(target('host-paths'));
    await rm(join(folder, 'open/data'), { recursive: true });
    await symlink('../closed', join(folder, 'open/data'));
    await expect(mountsFor(owner)).rejects.toThrow('is not allowed: ');
  });

  it('leaves nothing behind when the pod is gone, also of an agent that was killed', async () => {
    const owner = pod('open/data');
    await start(owner);
    mounts.add(`${target('host-paths')}/below`);
    expect(await volumes.findPods()).toEqual(['u1']);
    await volumes.tearDown(owner);
    expect(mounts.entries).toEqual([]);
    expect(await readdir(join(folder, 'pods/u1'))).toEqual([]);
    expect(await readdir(join(folder, 'open'))).toEqual(['data']);
  });
});
