import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LocalClaims } from './local-claims.js';

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'podloop-claims-'))));
afterEach(async () => rm(root, { recursive: true, force: true }));

const CLAIM = { namespace: 'default', name: 'data' };
const specOf = (storage: string) => ({
  accessModes: ['ReadWriteMany'],
  resources: { requests: { storage } },
});
const POD = { metadata: { namespace: 'default', name: 'web', uid: 'u' } } as NodePod;
const VOLUME = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };

const used = new Set<string>();
const open = async () =>
  LocalClaims.open({
    ...{ folder: join(root, 'claims'), clock: new FakeClock(), logger: SILENT_LOGGER },
    isUsed: async (path) => Promise.resolve(used.has(path)),
  });
const claimed = async (claims: LocalClaims) => claims.getClaimed(POD, VOLUME, new AbortController().signal);

describe('a claim without a control plane', () => {
  it('is a folder that any user may write to, and outlives the agent with what is in it', async () => {
    const first = await open();
    await first.declare(CLAIM, specOf('1Gi'));
    const place = await claimed(first);
    expect((await stat(place.path)).mode & 0o777).toBe(0o777);
    await writeFile(join(place.path, 'file'), 'kept');
    const later = await open();
    expect(await claimed(later)).toEqual(place);
    expect(later.list()).toEqual(first.list());
    expect(await readdir(place.path)).toEqual(['file']);
    expect(later.list()).toMatchObject([{ ...CLAIM, request: '1Gi', accessModes: ['ReadWriteMany'] }]);
  });

  it('that no manifest declares is made when a pod first needs it', async () => {
    const claims = await open();
    const { path, name } = await claimed(claims);
    expect((await stat(path)).isDirectory()).toBe(true);
    expect(claims.list()).toMatchObject([{ ...CLAIM, accessModes: ['ReadWriteOnce'] }]);
    expect(name).toBe(`pvc-${claims.find(CLAIM)!.uid}`);
  });

  it('is the same volume after an edit of its size', async () => {
    const claims = await open();
    await claims.declare(CLAIM, specOf('1Gi'));
    const { uid } = claims.find(CLAIM)!;
    await claims.declare(CLAIM, specOf('2Gi'));
    expect((await open()).find(CLAIM)).toMatchObject({ uid, request: '2Gi' });
  });

  it('is removed with what is in it, but not while a pod has it', async () => {
    const claims = await open();
    const { path, name } = await claimed(claims);
    await writeFile(join(path, 'file'), 'old');
    used.add(path);
    expect(await claims.remove(CLAIM)).toBe('in use');
    used.delete(path);
    expect(await claims.remove(CLAIM)).toBe('removed');
    expect(await claims.remove(CLAIM)).toBe('not found');
    expect(claims.list()).toEqual([]);
    const again = await claimed(await open());
    expect(await readdir(again.path)).toEqual([]);
    expect(again.name).not.toBe(name);
  });

  it.each([
    ['long names', 'n'.repeat(253), 'm'.repeat(253)],
    ['names that begin alike', `${'n'.repeat(240)}a`, `${'n'.repeat(240)}b`],
  ])('is another one with another name: %s', async (_what, one, other) => {
    const claims = await open();
    const paths = [one, other].map((name) => claims.pathOf({ namespace: 'default', name }));
    await claims.declare({ namespace: 'default', name: one }, specOf('1'));
    await claims.declare({ namespace: 'default', name: other }, specOf('1'));
    expect(new Set(paths).size).toBe(2);
    expect((await open()).list()).toHaveLength(2);
  });
});
