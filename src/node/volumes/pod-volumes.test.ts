import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoundedLooks } from './bounded-looks.js';
import { type VolumeMount } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type HostPathType, type Volume } from '#kube/pod/volume.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeMounts } from '#support/fakes/fake-mounts.js';
import { untilTrue } from '#support/until-true.js';
import { EmptyDir } from './empty-dir.js';
import { HostPath } from './host-path.js';
import { PodVolumes } from './pod-volumes.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

const NEVER = new AbortController().signal;
const NO_VARIABLES = { find: () => undefined };
let folder: string;
let mounts: FakeMounts;
let clock: FakeClock;
let volumes: PodVolumes;
let told: string[];
let ready: string[];

/** A kind that does what the test asks. */
const objects = {
  folderName: 'kubernetes.io~configmap',
  isReadOnly: true,
  problem: undefined as string | undefined,
  ready: false,
  setUp(): Promise<void> {
    if (this.problem !== undefined) return Promise.reject(new Error(this.problem));
    this.ready = true;
    return Promise.resolve();
  },
  isReady(): Promise<boolean> {
    return Promise.resolve(this.ready);
  },
  hostPathOf: ({ folder: path }: PodVolume): string => path,
} satisfies VolumeKind & { problem: string | undefined; ready: boolean };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-volumes-'));
  mounts = new FakeMounts();
  clock = new FakeClock();
  [told, ready] = [[], []];
  volumes = new PodVolumes({
    podsFolder: join(folder, 'pods'),
    ...{ mounter: mounts, readMounts: mounts.read, clock, looks: new BoundedLooks({ clock }) },
    onReady: (uid) => ready.push(uid),
    canMountRecursivelyReadOnly: ({ spec }) => spec.runtimeClassName === 'able',
    kinds: {
      emptyDir: new EmptyDir({ mounter: mounts, readMounts: mounts.read, memoryBytes: 1n << 30n }),
      hostPath: new HostPath({ looks: new BoundedLooks({ clock }) }),
      configMap: objects,
    },
    events: { record: (_, { type, reason, message }) => told.push(`${type} ${reason}: ${message}`) },
  });
  objects.problem = undefined;
  objects.ready = false;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function pod(list: readonly Volume[], volumeMounts: readonly VolumeMount[] = []): NodePod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers: [{ name: 'c', image: 'i', volumeMounts }], volumes: list },
  };
}
const emptyDir = (name: string): string => join(folder, 'pods/u1/volumes/kubernetes.io~empty-dir', name);
const hostPath = (path: string, type: HostPathType): NodePod =>
  pod([{ name: 'data', hostPath: { path, type } }]);

describe('an emptyDir', () => {
  it('is a folder that every user may write to, and keeps what is in it when it is set up again', async () => {
    const owner = pod([{ name: 'data', emptyDir: {} }]);
    await volumes.setUp(owner, NEVER);
    expect((await stat(emptyDir('data'))).mode & 0o7777).toBe(0o777);
    await writeFile(join(emptyDir('data'), 'file'), 'kept');
    await volumes.setUp(owner, NEVER);
    expect(await readFile(join(emptyDir('data'), 'file'), 'utf8')).toBe('kept');
  });

  it('keeps the mode that the pod gave it', async () => {
    const owner = pod([{ name: 'data', emptyDir: {} }]);
    await volumes.setUp(owner, NEVER);
    await chmod(emptyDir('data'), 0o700);
    await volumes.setUp(owner, NEVER);
    expect((await stat(emptyDir('data'))).mode & 0o7777).toBe(0o700);
  });

  it('has the mode of the manifest, and the rights of a group beside it', async () => {
    const modeOf = async (mode: number, fsGroup?: number): Promise<number> => {
      const owner = pod([{ name: 'data', emptyDir: { mode } }]);
      const securityContext = fsGroup === undefined ? {} : { fsGroup };
      await volumes.setUp({ ...owner, spec: { ...owner.spec, securityContext } }, NEVER);
      const found = (await stat(emptyDir('data'))).mode & 0o7777;
      await volumes.tearDown(owner);
      return found;
    };
    const own = process.getgid!();
    expect([await modeOf(0o1777), await modeOf(0), await modeOf(0o705)]).toEqual([0o1777, 0, 0o705]);
    expect([await modeOf(0o1755, own), await modeOf(0, own)]).toEqual([0o3775, 0o2770]);
  });

  it('is recreated where an agent was killed while it made it', async () => {
    const owner = pod([{ name: 'data', emptyDir: {} }]);
    await mkdir(`${emptyDir('data')}.new`, { recursive: true, mode: 0o700 });
    await volumes.setUp(owner, NEVER);
    expect((await stat(emptyDir('data'))).mode & 0o7777).toBe(0o777);
    expect(await readdir(join(emptyDir('data'), '..'))).toEqual(['data']);
  });

  it.each([
    ['/var/data/', '/var/data'],
    ['var/data', '/var/data'],
    ['C:/data', '/C:/data'],
  ])('is where the container’s mount leads: %s', async (mountPath, containerPath) => {
    const owner = pod(
      [{ name: 'data', emptyDir: {} }],
      [{ name: 'data', mountPath, readOnly: true, mountPropagation: 'HostToContainer' }],
    );
    expect(await volumes.mountsFor(owner, owner.spec.containers[0]!, NO_VARIABLES)).toEqual([
      {
        containerPath,
        hostPath: emptyDir('data'),
        readOnly: true,
        propagation: 'host-to-container',
      },
    ]);
  });

  it('is gone after the pod, and no link in it is followed', async () => {
    const owner = pod([{ name: 'data', emptyDir: {} }]);
    await volumes.setUp(owner, NEVER);
    await mkdir(join(folder, 'outside'));
    await writeFile(join(folder, 'outside/file'), '');
    await symlink(join(folder, 'outside'), join(emptyDir('data'), 'link'));
    expect(await volumes.findPods()).toEqual(['u1']);
    await volumes.tearDown(owner);
    await volumes.tearDown(owner);
    expect(await volumes.findPods()).toEqual([]);
    expect(await readdir(join(folder, 'outside'))).toEqual(['file']);
  });

  it('is kept while something is mounted below it', async () => {
    const owner = pod([{ name: 'data', emptyDir: {} }]);
    await volumes.setUp(owner, NEVER);
    mounts.add(`${emptyDir('data')}/a b`);
    await expect(volumes.tearDown(owner)).rejects.toMatchObject({
      code: 'VOLUME_IN_USE',
      message: `${emptyDir('data')}/a b is still mounted; its volume stays until it is unmounted`,
    });
    expect(await volumes.findPods()).toEqual(['u1']);
    mounts.entries = [];
    mounts.add(join(folder, 'pods/u1/volumes-of-others'));
    await volumes.tearDown(owner);
    expect(await volumes.findPods()).toEqual([]);
  });
});

describe('an emptyDir in memory', () => {
  const cache: Volume = { name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '2Mi' } };

  it('is mounted once, as large as its limit, and taken away with the pod', async () => {
    const owner = pod([cache]);
    await volumes.setUp(owner, NEVER);
    await volumes.setUp(owner, NEVER);
    expect(mounts.tmpfs).toEqual([{ folder: emptyDir('cache'), sizeBytes: 2n << 20n, mode: 0o1777 }]);
    await volumes.tearDown(owner);
    expect(mounts.entries).toEqual([]);
    expect(await volumes.findPods()).toEqual([]);
  });

  it('has the mode of the manifest', async () => {
    await volumes.setUp(pod([{ name: 'cache', emptyDir: { medium: 'Memory', mode: 0o750 } }]), NEVER);
    expect(mounts.tmpfs.map(({ mode }) => mode)).toEqual([0o750]);
  });

  it('is mounted again after a reboot', async () => {
    await volumes.setUp(pod([cache]), NEVER);
    mounts.entries = [];
    await volumes.setUp(pod([cache]), NEVER);
    expect(mounts.tmpfs).toHaveLength(2);
  });

  it('is kept while somebody uses it, for a minute', async () => {
    await volumes.setUp(pod([cache]), NEVER);
    mounts.busy.add(emptyDir('cache'));
    const problem = `${emptyDir('cache')} is still mounted (umount failed: target is busy); its volume stays until it is unmounted`;
    await expect(volumes.tearDown(pod([cache]))).rejects.toThrow(problem);
    await clock.advance(59_999);
    await expect(volumes.tearDown(pod([cache]))).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    expect(await volumes.findPods()).toEqual(['u1']);
    await clock.advance(1);
    await volumes.tearDown(pod([cache]));
    expect(mounts.calls.at(-1)).toBe(`unmount ${emptyDir('cache')} lazily`);
    expect(await volumes.findPods()).toEqual([]);
  });

  it('keeps everything while something of somebody else is mounted below it', async () => {
    await volumes.setUp(pod([cache, { name: 'data', emptyDir: {} }]), NEVER);
    mounts.add(join(emptyDir('cache'), 'theirs'));
    await expect(volumes.tearDown(pod([cache]))).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    expect(mounts.calls).toEqual([`mount ${emptyDir('cache')}`]);
    expect(await readdir(join(emptyDir('data'), '..'))).toEqual(['cache', 'data']);
  });

  it('is found in the table of mounts where a link leads to the folder of pods', async () => {
    await mkdir(join(folder, 'real'));
    await symlink(join(folder, 'real'), join(folder, 'pods'));
    await volumes.setUp(pod([cache]), NEVER);
    expect(mounts.entries.map(({ mountPoint }) => mountPoint)).toEqual([
      join(folder, 'real/u1/volumes/kubernetes.io~empty-dir/cache'),
    ]);
    await volumes.tearDown(pod([cache]));
    expect(mounts.entries).toEqual([]);
  });
});

describe('a mount that is read-only with all below it', () => {
  const mountsOf = async (
    recursiveReadOnly: VolumeMount['recursiveReadOnly'],
    runtimeClassName?: string,
  ): Promise<unknown> => {
    const mount = { name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly };
    const owner = pod([{ name: 'data', emptyDir: {} }], [mount]);
    const asked = { ...owner, spec: { ...owner.spec, runtimeClassName } };
    return volumes.mountsFor(asked, asked.spec.containers[0]!, NO_VARIABLES);
  };

  it('is asked of a runtime that can do it', async () => {
    for (const mode of ['IfPossible', 'Enabled'] as const) {
      expect(await mountsOf(mode, 'able')).toMatchObject([{ readOnly: true, recursiveReadOnly: true }]);
    }
    expect(await mountsOf('Disabled', 'able')).toMatchObject([{ readOnly: true }]);
    expect(await mountsOf('IfPossible')).toMatchObject([{ readOnly: true }]);
  });

  it('is an error where it has to be and cannot', async () => {
    await expect(mountsOf('Enabled')).rejects.toThrow(
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
    );
  });
});

describe('part of a volume', () => {
  const data: Volume = { name: 'data', emptyDir: {} };
  const mountsOf = async (mount: Partial<VolumeMount>): Promise<readonly { hostPath: string }[]> => {
    const owner = pod([data], [{ name: 'data', mountPath: '/data', ...mount }]);
    await volumes.setUp(owner, NEVER);
    const variables = { find: (name: string) => ({ WHO: 'me', NOTHING: '' })[name] };
    return volumes.mountsFor(owner, owner.spec.containers[0]!, variables);
  };
  const target = (): string => join(folder, 'pods/u1/volume-subpaths/data/c/0');

  it('is bound where nobody but the agent can change the way to it, again for each start', async () => {
    for (let start = 0; start < 2; start++) {
      expect(await mountsOf({ subPath: 'a/b' })).toMatchObject([{ hostPath: target() }]);
    }
    expect(mounts.calls).toEqual([`bind ${target()}`, `unmount ${target()}`, `bind ${target()}`]);
    expect((await stat(join(emptyDir('data'), 'a/b'))).mode & 0o7777).toBe(0o777);
  });

  it('may be a file', async () => {
    await volumes.setUp(pod([data]), NEVER);
    await writeFile(join(emptyDir('data'), 'file'), '');
    await mountsOf({ subPath: 'file' });
    expect((await stat(target())).isFile()).toBe(true);
  });

  it('has the variables of its container in its path', async () => {
    await mountsOf({ subPathExpr: '$(WHO)/logs' });
    expect((await stat(join(emptyDir('data'), 'me/logs'))).isDirectory()).toBe(true);
  });

  it.each([
    [{ subPathExpr: '$(NOTHING)/$(ELSE)' }, 'missing value for ELSE, NOTHING'],
    [{ subPath: 'a/../..' }, "unable to provision SubPath `a/../..`: must not contain '..'"],
    [{ subPath: '/a' }, 'error SubPath `/a` must not be an absolute path'],
  ])('that cannot be says so: %j', async (mount, words) => {
    await expect(mountsOf(mount)).rejects.toThrow(words);
    expect(mounts.calls).toEqual([]);
  });

  it('that leads out is reported without its expanded variables, which may contain Secrets', async () => {
    await volumes.setUp(pod([data]), NEVER);
    await symlink('/etc', join(emptyDir('data'), 'me'));
    await expect(mountsOf({ subPathExpr: '$(WHO)/logs' })).rejects.toThrow(
      /container "c": \$\(WHO\)\/logs leads out of the volume$/,
    );
  });

  it('is gone with the pod, its mounts first', async () => {
    await mountsOf({ subPath: 'a' });
    await volumes.tearDown(pod([data]));
    expect(mounts.entries).toEqual([]);
    expect(await readdir(join(folder, 'pods/u1'))).toEqual([]);
  });
});

describe('a hostPath', () => {
  it('is mounted as it is', async () => {
    const owner = pod(
      [{ name: 'data', hostPath: { path: '/srv/data', type: '' } }],
      [{ name: 'data', mountPath: '/data' }],
    );
    await volumes.setUp(owner, NEVER);
    expect(await volumes.mountsFor(owner, owner.spec.containers[0]!, NO_VARIABLES)).toEqual([
      { containerPath: '/data', hostPath: '/srv/data', readOnly: false, propagation: 'private' },
    ]);
  });

  it('is made where its type says so', async () => {
    await volumes.setUp(hostPath(join(folder, 'a/b'), 'DirectoryOrCreate'), NEVER);
    await volumes.setUp(hostPath(join(folder, 'a/b/file'), 'FileOrCreate'), NEVER);
    expect((await stat(join(folder, 'a/b'))).isDirectory()).toBe(true);
    expect((await stat(join(folder, 'a/b/file'))).isFile()).toBe(true);
  });

  it('is left as it is where it is there already', async () => {
    const path = join(folder, 'file');
    await writeFile(path, 'content');
    await chmod(path, 0o600);
    await volumes.setUp(hostPath(path, 'FileOrCreate'), NEVER);
    expect(await readFile(path, 'utf8')).toBe('content');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each<[HostPathType, string]>([
    ['Directory', 'a directory'],
    ['DirectoryOrCreate', 'a directory'],
    ['Socket', 'a socket file'],
    ['CharDevice', 'a character device'],
    ['BlockDevice', 'a block device'],
  ])('that is a file is no %s', async (type, words) => {
    const path = join(folder, 'file');
    await writeFile(path, '');
    await expect(volumes.setUp(hostPath(path, type), NEVER)).rejects.toMatchObject({
      code: 'VOLUME_NOT_READY',
      message: `MountVolume.SetUp failed for volume "data" : hostPath type check failed: ${path} is not ${words}`,
    });
  });

  it('that is missing is no file, and becomes one as soon as it is there', async () => {
    const path = join(folder, 'later');
    await expect(volumes.setUp(hostPath(path, 'File'), NEVER)).rejects.toThrow(`${path} is not a file`);
    await writeFile(path, '');
    await volumes.setUp(hostPath(path, 'File'), NEVER);
  });

  it('that was found once is not looked at again, until the pod is gone', async () => {
    const path = join(folder, 'socket-of-a-daemon');
    await writeFile(path, '');
    const owner = hostPath(path, 'File');
    await volumes.setUp(owner, NEVER);
    await rm(path);
    await volumes.setUp(owner, NEVER);
    await volumes.tearDown(owner);
    await expect(volumes.setUp(owner, NEVER)).rejects.toThrow('is not a file');
  });

  it('may be a socket or a device', async () => {
    const path = join(folder, 'socket');
    const server = createServer();
    await new Promise<void>((done) => server.listen(path, done));
    await volumes.setUp(hostPath(path, 'Socket'), NEVER);
    await volumes.setUp(hostPath('/dev/null', 'CharDevice'), NEVER);
    await new Promise((done) => server.close(done));
  });
});

describe('a volume that cannot be had', () => {
  it('is reported within a second once it is there, unless the pod is gone', async () => {
    const file = (uid: string): NodePod => {
      const waiting = pod([{ name: 'file', hostPath: { path: join(folder, uid), type: 'File' } }]);
      return { ...waiting, metadata: { ...waiting.metadata, uid } };
    };
    for (const uid of ['later', 'never', 'gone']) {
      await expect(volumes.setUp(file(uid), NEVER)).rejects.toThrow('is not a file');
    }
    await volumes.tearDown(file('gone'));
    const ended = new AbortController();
    const running = volumes.run(ended.signal);
    await clock.advance(1_000);
    expect(ready).toEqual([]);
    await writeFile(join(folder, 'later'), '');
    await writeFile(join(folder, 'gone'), '');
    await clock.advance(1_000);
    await untilTrue(() => ready.length > 0);
    await clock.advance(5_000);
    expect(ready).toEqual(['later']);
    ended.abort();
    await running;
  });

  const settings: Volume = { name: 'settings', configMap: { name: 'x' } };

  it('is reported by its name, beside others, while the rest is made', async () => {
    objects.problem = 'configmap "x" not found';
    const file: Volume = { name: 'file', hostPath: { path: join(folder, 'none'), type: 'File' } };
    const owner = pod([settings, file, { name: 'data', emptyDir: {} }]);
    await expect(volumes.setUp(owner, NEVER)).rejects.toMatchObject({ code: 'VOLUME_NOT_READY' });
    expect(told.sort()).toEqual([
      `Warning FailedMount: MountVolume.SetUp failed for volume "file" : hostPath type check failed: ${folder}/none is not a file`,
      'Warning FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "x" not found',
    ]);
    expect((await stat(emptyDir('data'))).isDirectory()).toBe(true);
  });

  it('fails nothing when it was available before, and is reported', async () => {
    const owner = pod([settings], [{ name: 'settings', mountPath: '/settings' }]);
    await volumes.setUp(owner, NEVER);
    objects.problem = 'configmap "x" not found';
    await volumes.setUp(owner, NEVER);
    expect(told).toEqual([
      'Warning FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "x" not found',
    ]);
    expect(await volumes.mountsFor(owner, owner.spec.containers[0]!, NO_VARIABLES)).toMatchObject([
      { hostPath: join(folder, 'pods/u1/volumes/kubernetes.io~configmap/settings'), readOnly: true },
    ]);
  });
});

it('of a kind that no pod gets here is reported, while the rest is made', async () => {
  const owner = pod([
    { name: 'shared', nfs: { server: 's', path: '/' } },
    { name: 'data', emptyDir: {} },
  ]);
  const why =
    'MountVolume.SetUp failed for volume "shared" : volumes of the kind nfs are not supported by podloop';
  await expect(volumes.setUp(owner, NEVER)).rejects.toMatchObject({
    ...{ code: 'VOLUME_UNSUPPORTED', message: why },
  });
  expect(told).toEqual([`Warning FailedMount: ${why}`]);
  expect((await stat(emptyDir('data'))).isDirectory()).toBe(true);
});

it('that fails before it is set up is reported in the words for that', async () => {
  const why = 'MountVolume.NodeAffinity check failed for volume "pv1" : no matching NodeSelectorTerms';
  objects.problem = why;
  await expect(
    volumes.setUp(pod([{ name: 'settings', configMap: { name: 'x' } }]), NEVER),
  ).rejects.toMatchObject({ message: why });
  expect(told).toEqual([`Warning FailedMount: ${why}`]);
});

it('starts no more volumes once it has to end', async () => {
  const ended = AbortSignal.abort(new Error('ended'));
  await expect(volumes.setUp(pod([{ name: 'data', emptyDir: {} }]), ended)).rejects.toThrow('ended');
  expect(await volumes.findPods()).toEqual([]);
});
