import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { VolumeUsages } from './volume-usages.js';

let root: string;
let measured: string[];
let ending: AbortController;
const clock = new FakeClock();

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-volumes-'));
  for (const path of [
    'u1/kubernetes.io~empty-dir/a',
    'u1/kubernetes.io~configmap/b',
    'u2/kubernetes.io~empty-dir/c',
  ]) {
    await mkdir(join(root, path), { recursive: true });
  }
  measured = [];
  ending = new AbortController();
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

function usages(measureFolder = (path: string) => Promise.resolve(BigInt(path.length))): VolumeUsages {
  return new VolumeUsages({
    ...{ clock, signal: ending.signal, volumesDir: (uid: string) => join(root, uid) },
    measureFolder: (path) => {
      measured.push(path.slice(root.length + 1));
      return measureFolder(path);
    },
    countInodes: (path) => Promise.resolve(path.endsWith('a') ? 5n : 6n),
  });
}

it('measures in the background, and again only once what it knows is old', async () => {
  const volumes = usages();
  expect(await volumes.find('u1')).toEqual([]);
  await volumes.settled();
  const found = await volumes.find('u1');
  expect(found.map(({ name, plugin }) => [name, plugin]).sort()).toEqual([
    ['a', 'kubernetes.io~empty-dir'],
    ['b', 'kubernetes.io~configmap'],
  ]);
  for (const { disk } of found)
    expect(disk).toMatchObject({
      usedBytes: expect.any(Number) as number,
      capacityBytes: expect.any(Number) as number,
    });
  expect(found.map(({ name, disk }) => [name, disk.inodesUsed]).sort()).toEqual([
    ['a', 5],
    ['b', 6],
  ]);
  await volumes.settled();
  expect(measured).toHaveLength(2);
  await clock.advance(120_000);
  await volumes.find('u1');
  await volumes.settled();
  expect(measured).toHaveLength(4);
});

it('leaves out what cannot be measured, and forgets pods that are gone', async () => {
  const volumes = usages((path) =>
    path.endsWith('a') ? Promise.reject(new Error('denied')) : Promise.resolve(1n),
  );
  await volumes.find('u1');
  await volumes.find('u2');
  await volumes.settled();
  expect((await volumes.find('u1')).map(({ name }) => name)).toEqual(['b']);
  volumes.keepOnly(['u2']);
  expect(await volumes.find('u1')).toEqual([]);
  expect(await volumes.find('u2')).toHaveLength(1);
  await volumes.settled();
});

it('goes on with what it knows, and its time, when a volume cannot be measured again', async () => {
  const answers = [Promise.resolve(7n), Promise.reject(new Error('du was killed')), Promise.resolve(9n)];
  answers[1]!.catch(() => undefined);
  const volumes = usages(() => answers.shift()!);
  const look = async (): Promise<unknown> => {
    await volumes.find('u2');
    await volumes.settled();
    return (await volumes.find('u2'))[0]?.disk;
  };
  const first = clock.now();
  expect(await look()).toMatchObject({ usedBytes: 7, atMs: first });
  await clock.advance(120_000);
  expect(await look()).toMatchObject({ usedBytes: 7, atMs: first });
  await clock.advance(120_000);
  expect(await look()).toMatchObject({ usedBytes: 9, atMs: first + 240_000 });
});

it('looks for no volumes outside of the folder of pods, whatever uid somebody gave a pod', async () => {
  const volumes = usages();
  for (const uid of ['../u1', 'u1/../u1', '..', '.', '', 'u1/', '/etc']) {
    expect(await volumes.find(uid)).toEqual([]);
  }
  await volumes.settled();
  expect(measured).toEqual([]);
});

it('measures nothing where the period says so', async () => {
  for (const periodMs of [0, -1_000]) {
    const volumes = new VolumeUsages({
      ...{ clock, signal: ending.signal, volumesDir: (uid: string) => join(root, uid), periodMs },
      measureFolder: () => Promise.reject(new Error('measured')),
      countInodes: () => Promise.reject(new Error('counted')),
    });
    expect(await volumes.find('u1')).toEqual([]);
    await volumes.settled();
    expect(await volumes.find('u1')).toEqual([]);
  }
});

it('begins nothing once the agent ends', async () => {
  const volumes = usages();
  ending.abort();
  await volumes.find('u1');
  await volumes.settled();
  expect(measured).toEqual([]);
});

it('distinguishes volumes that have a file system of their own from those on the node’s disk', async () => {
  // Instead of a mount, which not every user may make: the folder of another file system.
  await mkdir(join(root, 'u3'));
  await symlink('/proc/sys', join(root, 'u3/kubernetes.io~empty-dir'));
  const volumes = usages();
  const look = async (uid: string): Promise<(readonly [string, boolean])[]> => {
    await volumes.find(uid);
    await volumes.settled();
    return (await volumes.find(uid)).map(({ name, isApart }) => [name, isApart] as const);
  };
  expect(await look('u2')).toEqual([['c', false]]);
  expect(await look('u3')).toContainEqual(['kernel', true]);
});
