import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfigObject, type PodObjects } from '#kube/objects/config-object.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type TmpfsMount, ToolMounter } from '../mounter.js';
import { type PodVolume, sourceOf, type VolumeKind } from '../volume-kind.js';
import { contentVolumeKinds } from './content-volume.js';

const NEVER = new AbortController().signal;
const IS_ROOT = process.getuid?.() === 0;
let top: string;
let there: Map<string, ConfigObject>;
let mounts: TmpfsMount[];
let mountProblem: string | undefined;
let log: LogRecorder;

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'podloop-content-'));
  await mkdir(join(top, 'kind'), { mode: 0o750 });
  there = new Map();
  mounts = [];
  mountProblem = undefined;
  log = new LogRecorder();
});
afterEach(() => rm(top, { recursive: true, force: true }));

const objects: PodObjects = {
  findConfigMap: (_, name) => {
    const found = there.get(name);
    return found?.kind === 'ConfigMap' ? found : undefined;
  },
  findSecret: (_, name) => {
    const found = there.get(name);
    return found?.kind === 'Secret' ? found : undefined;
  },
};

let token: string | undefined;

function putConfigMap(name: string, data: Readonly<Record<string, string>>): void {
  const metadata = { name, namespace: 'default' };
  const entries = new Map(Object.entries(data));
  there.set(name, { kind: 'ConfigMap', metadata, data: entries, binaryData: new Map() });
}

function putSecret(name: string, data: Readonly<Record<string, string>>): void {
  const metadata = { name, namespace: 'default' };
  const entries = Object.entries(data).map(([key, text]): [string, Uint8Array] => [key, Buffer.from(text)]);
  there.set(name, { kind: 'Secret', metadata, type: 'Opaque', data: new Map(entries) });
}

function kindOf(volume: Volume, mounter?: ToolMounter): VolumeKind {
  const fake = {
    mountTmpfs: async (mount: TmpfsMount) => {
      if (mountProblem !== undefined) throw new Error(mountProblem);
      mounts.push(mount);
    },
  };
  const kinds = contentVolumeKinds({
    objects,
    downwardFacts: () => ({
      ...{ podIps: [], hostIps: [], nodeName: 'node', serviceAccountName: 'default' },
      allocatable: { cpuMilli: 4_000n, memoryBytes: 8n << 30n },
    }),
    mounter: mounter ?? fake,
    clock: new FakeClock(),
    logger: log,
    tokens: {
      getToken: () => (token === undefined ? Promise.reject(new Error('no token')) : Promise.resolve(token)),
    },
  });
  return kinds[sourceOf(volume)]!;
}

function workOf(volume: Volume, spec: Partial<PodSpec> = {}, labels: Record<string, string> = {}): PodVolume {
  return { pod: aNodePod({ spec, labels }), volume, folder: join(top, 'kind', volume.name) };
}

const setUp = (volume: Volume, spec?: Partial<PodSpec>): Promise<void> =>
  kindOf(volume).setUp(workOf(volume, spec), NEVER);
const read = (path: string): Promise<string> => readFile(join(top, 'kind', path), 'utf8');
const modeOf = async (path: string): Promise<string> =>
  ((await stat(join(top, 'kind', path))).mode & 0o7777).toString(8);

const CONFIG: Volume = { name: 'v', configMap: { name: 'settings' } };
const SECRET: Volume = { name: 'v', secret: { secretName: 'login', defaultMode: 0o400 } };

it('the kinds have the folders of a kubelet, and nobody writes to them but the agent', () => {
  const kinds = contentVolumeKinds({} as never);
  expect(Object.entries(kinds).map(([source, kind]) => [source, kind.folderName, kind.isReadOnly])).toEqual([
    ['configMap', 'kubernetes.io~configmap', true],
    ['secret', 'kubernetes.io~secret', true],
    ['downwardAPI', 'kubernetes.io~downward-api', true],
    ['projected', 'kubernetes.io~projected', true],
  ]);
});

it('a ConfigMap is there at once, and what changes of it with the next sync', async () => {
  putConfigMap('settings', { a: '1', b: '2' });
  await setUp(CONFIG);
  expect([await read('v/a'), await read('v/b'), await modeOf('v'), await modeOf('v/a')]).toEqual([
    ...['1', '2', '777', '644'],
  ]);
  putConfigMap('settings', { a: 'changed', c: '3' });
  await setUp(CONFIG);
  const names = (await readdir(join(top, 'kind/v'))).filter((name) => !name.startsWith('..'));
  expect([names.sort(), await read('v/a')]).toEqual([['a', 'c'], 'changed']);
  expect(mounts).toEqual([]);
});

it('labels of a pod that change while it runs are in its file with the next sync', async () => {
  const volume: Volume = {
    name: 'v',
    downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
  };
  await kindOf(volume).setUp(workOf(volume, {}, { app: 'old' }), NEVER);
  await kindOf(volume).setUp(workOf(volume, {}, { app: 'new' }), NEVER);
  expect(await read('v/labels')).toBe('app="new"');
});

describe('an object that is missing', () => {
  it('leaves nothing behind, and the volume is not ready', async () => {
    await expect(setUp(CONFIG)).rejects.toThrow('configmap "settings" not found');
    expect(await readdir(join(top, 'kind'))).toEqual([]);
    expect(await kindOf(CONFIG).isReady(workOf(CONFIG))).toBe(false);
  });

  it('leaves the files as they are where they have been there', async () => {
    putConfigMap('settings', { a: '1' });
    await setUp(CONFIG);
    there.clear();
    await expect(setUp(CONFIG)).rejects.toThrow('configmap "settings" not found');
    expect([await read('v/a'), await kindOf(CONFIG).isReady(workOf(CONFIG))]).toEqual(['1', true]);
  });

  it('does not hand the files of another object to containers when the volume was edited', async () => {
    putConfigMap('settings', { a: '1' });
    await setUp(CONFIG);
    const edited: Volume = { name: 'v', configMap: { name: 'other' } };
    await expect(setUp(edited)).rejects.toThrow('configmap "other" not found');
    expect(await kindOf(edited).isReady(workOf(edited))).toBe(false);
    putConfigMap('other', { a: '1' });
    await setUp(edited);
    expect(await kindOf(edited).isReady(workOf(edited))).toBe(true);
  });
});

describe('a Secret', () => {
  it('is kept in a file system in memory, below a folder that only the agent can enter', async () => {
    putSecret('login', { password: 'hunter2' });
    await setUp(SECRET);
    expect(mounts).toEqual([{ folder: join(top, 'kind/v'), mode: 0o1777 }]);
    expect([await modeOf('.'), await modeOf('v/password')]).toEqual(['700', '400']);
  });

  it('shares it with whatever else is projected', async () => {
    putConfigMap('settings', { a: '1' });
    await setUp({ name: 'v', projected: { sources: [{ configMap: { name: 'settings' } }] } });
    expect(mounts).toHaveLength(1);
  });

  it.each(['mount: /x: must be superuser to use mount.', 'mount: /x: permission denied.'])(
    'is kept on the disk where nothing can be mounted, which is said: %s',
    async (problem) => {
      mountProblem = `mount failed: ${problem}`;
      putSecret('login', { password: 'hunter2' });
      await setUp(SECRET);
      expect([await read('v/password'), await modeOf('.')]).toEqual(['hunter2', '700']);
      expect(log.complaints).toHaveLength(1);
      expect(JSON.stringify(log.lines)).not.toContain('hunter2');
      // And stays there, where the containers see it, once something can be.
      mountProblem = undefined;
      await setUp(SECRET);
      expect(mounts).toEqual([]);
    },
  );

  it('is not written anywhere when a mount fails for another reason', async () => {
    mountProblem = 'mount failed: mount: /x: mount(2) system call failed: Cannot allocate memory.';
    putSecret('login', { password: 'hunter2' });
    await expect(setUp(SECRET)).rejects.toThrow('Cannot allocate memory');
    expect(await readdir(join(top, 'kind/v'))).toEqual([]);
  });
});

it('a folder that somebody has put a link in the place of is not written to', async () => {
  await mkdir(join(top, 'outside'));
  await symlink(join(top, 'outside'), join(top, 'kind/v'));
  putConfigMap('settings', { a: '1' });
  await expect(setUp(CONFIG)).rejects.toThrow('kind/v is not a directory');
  expect(await readdir(join(top, 'outside'))).toEqual([]);
});

describe.runIf(IS_ROOT)('as root', () => {
  afterEach(async () => {
    await new ToolMounter({ clock: new FakeClock() }).unmount(join(top, 'kind/v')).catch(() => undefined);
  });

  it('a Secret is on a tmpfs that is mounted once, also for an agent that was restarted', async () => {
    putSecret('login', { password: 'hunter2' });
    const device = async (): Promise<number> => (await stat(join(top, 'kind/v'))).dev;
    await kindOf(SECRET, new ToolMounter({ clock: new FakeClock() })).setUp(workOf(SECRET), NEVER);
    const mounted = await device();
    expect(mounted).not.toBe((await stat(join(top, 'kind'))).dev);
    await kindOf(SECRET, new ToolMounter({ clock: new FakeClock() })).setUp(workOf(SECRET), NEVER);
    expect([await device(), await read('v/password'), await modeOf('v')]).toEqual([
      mounted,
      'hunter2',
      '1777',
    ]);
    await new ToolMounter({ clock: new FakeClock() }).unmount(join(top, 'kind/v'));
    expect(await readdir(join(top, 'kind/v'))).toEqual([]);
    expect(await kindOf(SECRET).isReady(workOf(SECRET))).toBe(false);
    await kindOf(SECRET, new ToolMounter({ clock: new FakeClock() })).setUp(workOf(SECRET), NEVER);
    expect(await read('v/password')).toBe('hunter2');
  });

  it.each<[Volume, string]>([
    [CONFIG, '2777'],
    [SECRET, '3777'],
  ])('the group of the pod can read what the mode forbids: %j', async (volume, folderMode) => {
    putConfigMap('settings', { a: '1' });
    putSecret('login', { a: 'hunter2' });
    const spec = { securityContext: { fsGroup: 2000 } };
    const kind = kindOf(volume, new ToolMounter({ clock: new FakeClock() }));
    await kind.setUp(workOf(volume, spec), NEVER);
    await kind.setUp(workOf(volume, spec), NEVER);
    const facts = await stat(join(top, 'kind/v/a'));
    expect([facts.gid, facts.mode & 0o440, await modeOf('v')]).toEqual([2000, 0o440, folderMode]);
    expect((await stat(join(top, 'kind/v'))).gid).toBe(2000);
  });

  it('the mode of the folder is put right again', async () => {
    putConfigMap('settings', { a: '1' });
    await setUp(CONFIG);
    await chmod(join(top, 'kind/v'), 0o700);
    await writeFile(join(top, 'kind/v/planted'), '');
    await setUp(CONFIG);
    expect([await modeOf('v'), (await readdir(join(top, 'kind/v'))).includes('planted')]).toEqual([
      '777',
      false,
    ]);
  });
});

it('a token is rewritten when there is another one, and stays while there is none', async () => {
  const volume: Volume = {
    name: 'v',
    projected: { sources: [{ serviceAccountToken: { path: 'sa/token' } }], defaultMode: 0o644 },
  };
  token = 'first';
  await setUp(volume);
  expect([await read('v/sa/token'), await modeOf('v/sa/token')]).toEqual(['first', '644']);
  token = 'second';
  await setUp(volume);
  expect(await read('v/sa/token')).toBe('second');
  token = undefined;
  await expect(setUp(volume)).rejects.toThrow('no token');
  expect(await read('v/sa/token')).toBe('second');
});
