import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeletPullsFolder } from '#support/fakes/kubelet-pulls-folder.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type KubeletPulls, readKubeletPulls } from './kubelet-pulls.js';
import { keyOf } from './pull-record-files.js';

const ID = `sha256:${'a'.repeat(64)}`;
const SECRET = { uid: 'u1', namespace: 'team', name: 'pull' };
const LOGIN = { hash: 'of a kubelet', secret: SECRET };

let root: string;
let kubelet: KubeletPullsFolder;
let log: LogRecorder;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-kubelet-pulls-'));
  kubelet = new KubeletPullsFolder(root);
  log = new LogRecorder();
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const read = async (known: ReadonlyMap<string, string> = new Map()): Promise<KubeletPulls> =>
  readKubeletPulls(kubelet.path, known, log);
const namesOf = (pulls: KubeletPulls, id = ID): unknown =>
  Object.fromEntries(pulls.pulled.get(keyOf(id))?.names ?? [['nothing', true]]);

describe('what a kubelet knew of its pulls', () => {
  it('is nothing where it kept none', async () => {
    expect(await read()).toEqual({ pulled: new Map(), begun: [], isPartial: false, read: new Map() });
    expect(log.complaints).toEqual([]);
  });

  it.each(['kubelet.config.k8s.io/v1alpha1', 'kubelet.config.k8s.io/v1beta1'])(
    'is who may use which image by which name, and what has begun, in %s',
    async (apiVersion) => {
      await kubelet.addPulled(
        ID,
        {
          'docker.io/library/public': { nodePodsAccessible: true },
          'r.test/team/app': { kubernetesSecrets: [{ ...SECRET, credentialHash: 'theirs' }] },
          'r.test/hashless': { kubernetesSecrets: [{ ...SECRET, credentialHash: '' }] },
          'r.test/by-program': { kubernetesServiceAccounts: [SECRET] },
          'r.test/nobody': {},
        },
        apiVersion,
      );
      await kubelet.addPulled('r.test/unseen@sha256:b', undefined, apiVersion);
      await kubelet.addBegun('busybox:latest', apiVersion);
      const pulls = await read();
      expect(namesOf(pulls)).toEqual({
        'docker.io/library/public': 'anyone',
        'r.test/team/app': [LOGIN],
        'r.test/hashless': [LOGIN],
        'r.test/by-program': [{ hash: LOGIN.hash, account: SECRET }],
        'r.test/nobody': [],
      });
      expect(pulls.pulled.get(keyOf(ID))!.id).toBe(ID);
      expect(namesOf(pulls, 'r.test/unseen@sha256:b')).toEqual({});
      expect([pulls.begun, pulls.isPartial, log.complaints]).toEqual([['busybox:latest'], false, []]);
    },
  );

  it('goes by full names: two spellings are one repository', async () => {
    const other = { ...SECRET, uid: 'u2' };
    await kubelet.addPulled(ID, {
      busybox: { kubernetesSecrets: [SECRET] },
      'docker.io/library/busybox': { kubernetesSecrets: [SECRET, other] },
    });
    expect(namesOf(await read())).toEqual({
      'docker.io/library/busybox': [{ ...LOGIN, secret: other }, LOGIN],
    });
  });

  it('is read once, and again after it was rewritten', async () => {
    await kubelet.addPulled(ID, {});
    await kubelet.addPulled('sha256:b', {});
    await kubelet.addBegun('busybox:latest');
    const { read: known } = await read();
    expect(known.size).toBe(3);
    const again = await read(known);
    expect([again.pulled.size, again.begun, again.read]).toEqual([0, [], known]);
    await kubelet.addPulled(ID, { 'r.test/team/app': { kubernetesSecrets: [SECRET] } });
    // A second pull of the name says the same.
    const begunAgain = await kubelet.addBegun('busybox:latest');
    await utimes(begunAgain, 1_000, 1_000);
    const news = await read(known);
    expect([[...news.pulled.keys()], news.begun]).toEqual([[keyOf(ID)], ['busybox:latest']]);
  });

  it('is no file that was left half written, or is nobody’s', async () => {
    await kubelet.addPulled(ID, {});
    for (const name of ['notes.txt', `sha256-${keyOf('x')}.tmp`, 'sha256-x']) {
      await writeFile(join(kubelet.path, 'pulled', name), '{');
    }
    const { pulled, isPartial } = await read();
    expect([pulled.size, isPartial, log.complaints]).toEqual([1, false, []]);
  });
});

describe('a file of a kubelet that cannot be read', () => {
  const record = (fields: object): string =>
    JSON.stringify({
      ...{ kind: 'ImagePulledRecord', apiVersion: 'kubelet.config.k8s.io/v1beta1', imageRef: ID },
      ...fields,
    });

  it.each([
    '',
    '{',
    'null',
    '[]',
    record({ kind: 'ImagePullIntent' }),
    record({ apiVersion: 'kubelet.config.k8s.io/v9' }),
    record({ imageRef: 'sha256:b' }),
    record({ credentialMapping: [] }),
    record({ credentialMapping: { 'r.test/team/app': null } }),
    record({ credentialMapping: { 'r.test/team/app': { kubernetesSecrets: {} } } }),
    record({ credentialMapping: { 'r.test/team/app': { kubernetesSecrets: [{ ...SECRET, uid: '' }] } } }),
  ])('makes its image an unknown one, and is reported by its name, once: %s', async (text) => {
    await kubelet.addPulled('sha256:c', { 'r.test/public': { nodePodsAccessible: true } });
    const path = await kubelet.write('pulled', ID, text);
    const pulls = await read();
    expect([namesOf(pulls), namesOf(pulls, 'sha256:c')]).toEqual([{}, { 'r.test/public': 'anyone' }]);
    expect(pulls.pulled.get(keyOf(ID))!.id).toBeUndefined();
    expect([pulls.isPartial, log.complaints]).toMatchObject([false, [{ level: 'error', fields: { path } }]]);
    expect((await read(pulls.read)).pulled.size).toBe(0);
    expect(log.complaints).toHaveLength(1);
  });

  it.each(['', '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"b"}'])(
    'may be of any image where it says that a pull has begun: %j',
    async (text) => {
      const path = await kubelet.write('pulling', 'busybox:latest', text);
      const { begun, isPartial } = await read();
      expect([begun, isPartial, log.complaints]).toMatchObject([[], true, [{ fields: { path } }]]);
    },
  );

  it('is reported each time when it cannot even be opened', async () => {
    const path = join(kubelet.path, 'pulled', `sha256-${keyOf(ID)}`);
    await mkdir(path, { recursive: true });
    const pulls = await read();
    expect([namesOf(pulls), pulls.read.size]).toEqual([{}, 0]);
    expect(log.complaints).toMatchObject([{ fields: { path } }]);
  });

  it.each<[string, (path: string) => unknown]>([
    ['a pipe that nobody writes to', (path) => execFileSync('mkfifo', [path])],
    ['a link', async (path) => symlink(`${path}.before`, path)],
    [
      'larger than any that a kubelet writes',
      async (path) => writeFile(path, Buffer.alloc(4 * 1024 ** 2 + 1)),
    ],
  ])('is one that is %s', async (_what, make) => {
    const path = await kubelet.addPulled(ID, { 'r.test/public': { nodePodsAccessible: true } });
    await rename(path, `${path}.before`);
    await make(path);
    const pulls = await read();
    expect([namesOf(pulls), pulls.isPartial, pulls.read.size]).toEqual([{}, false, 0]);
    expect(log.complaints).toMatchObject([{ fields: { path } }]);
  });

  it('stays known as it was read before, alone and with all of its folder', async () => {
    const path = await kubelet.addPulled(ID, {});
    await kubelet.addBegun('busybox:latest');
    const { read: known } = await read();
    await rename(path, `${path}.before`);
    await mkdir(path);
    expect((await read(known)).read).toEqual(known);
    await rename(join(kubelet.path, 'pulled'), join(kubelet.path, 'before'));
    await writeFile(join(kubelet.path, 'pulled'), 'a file');
    expect((await read(known)).read).toEqual(known);
    // One that is gone is no longer known.
    await rm(join(kubelet.path, 'pulled'));
    expect((await read(known)).read.size).toBe(1);
  });

  it.each(['pulled', 'pulling'])('may be any where the folder %s is none', async (kind) => {
    await mkdir(kubelet.path);
    await writeFile(join(kubelet.path, kind), 'a file');
    expect((await read()).isPartial).toBe(true);
    expect(log.complaints).toMatchObject([{ fields: { path: join(kubelet.path, kind) } }]);
  });
});
