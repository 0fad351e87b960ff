import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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
/** What the file system enforces, by path; it says `refusal` when it does not. */
const enforced = new Map<string, bigint>();
let refusal: string | undefined;
const sizes = {
  limit: async (path: string, { bytes }: { readonly bytes: bigint }) => {
    if (refusal === undefined) enforced.set(basename(path), bytes);
    return Promise.resolve(refusal);
  },
  lift: vi.fn(async () => Promise.resolve()),
};
beforeEach(() => {
  refusal = undefined;
  enforced.clear();
});

const open = async () =>
  LocalClaims.open({
    ...{ folder: join(root, 'claims'), clock: new FakeClock(), logger: SILENT_LOGGER },
    isUsed: async (path) => Promise.resolve(used.has(path)),
    sizes,
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

  it('has the size that was asked for, and another one after an edit', async () => {
    const claims = await open();
    await claims.declare(CLAIM, specOf('1Gi'));
    expect(enforced).toEqual(new Map([['default_data', 2n ** 30n]]));
    await claims.declare(CLAIM, specOf('1500M'));
    expect(enforced).toEqual(new Map([['default_data', 1_500_000_000n]]));
    enforced.clear();
    // Each pod that has it asks again.
    await claimed(claims);
    expect(enforced.size).toBe(0);
    await claimed(await open());
    expect(enforced.size).toBe(1);
    expect(claims.whyNotEnforced(CLAIM)).toBeUndefined();
    await claims.remove(CLAIM);
    await expect.poll(() => sizes.lift.mock.calls.length).toBe(1);
  });

  it('says of a size that was not tried to enforce yet that it is not', async () => {
    await (await open()).declare(CLAIM, specOf('1Gi'));
    const later = await open();
    expect(later.whyNotEnforced(CLAIM)).toContain('no pod has needed it');
    await claimed(later);
    expect(later.whyNotEnforced(CLAIM)).toBeUndefined();
  });

  it('says why its size is not enforced, and tries that again with the next pod', async () => {
    const claims = await open();
    refusal = 'setquota is missing: install quota';
    await claims.declare(CLAIM, specOf('1Gi'));
    expect(claims.whyNotEnforced(CLAIM)).toBe(refusal);
    refusal = undefined;
    await claimed(claims);
    expect(claims.whyNotEnforced(CLAIM)).toBeUndefined();
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
