import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '#support/until-true.js';
import { BoundedLooks } from '../../volumes/bounded-looks.js';
import { type Claimed, ClaimUsages, type ClaimUsagesOptions } from './claim-usages.js';

const NEVER = new AbortController().signal;
let root: string;
let clock: FakeClock;
let ofNode: Claimed[];
let ofCluster: Claimed[];
let counted: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-claim-usages-'));
  for (const name of ['a', 'b', 'c']) await mkdir(join(root, name));
  clock = new FakeClock();
  [ofNode, ofCluster, counted] = [[], [], []];
});
afterEach(() => rm(root, { recursive: true }));

const aClaimed = (
  name: string,
  fields: Partial<Claimed> = {},
  kind: 'local' | 'hostPath' = 'local',
): Claimed => ({
  ...{ podUid: 'u1', volume: 'data', claim: { namespace: 'default', name } },
  place: { kind, path: join(root, name) },
  ...fields,
});

function usages(more: Partial<ClaimUsagesOptions> = {}): ClaimUsages {
  return new ClaimUsages({
    claimed: () => ({ ofNode, ofCluster }),
    looks: new BoundedLooks({ clock }),
    measureFolder: (path) => {
      counted.push(path.slice(root.length + 1));
      return Promise.resolve(4096n);
    },
    countInodes: () => Promise.resolve(3n),
    ...{ periodMs: 60_000, clock },
    ...more,
  });
}

it('counts what a volume of this node uses, and takes the numbers of the file system for a local one', async () => {
  ofNode = [aClaimed('a')];
  ofCluster = [aClaimed('b', { podUid: 'u2', volume: 'cache' }), aClaimed('c', { podUid: 'u2' }, 'hostPath')];
  const claims = usages();
  expect(claims.all()).toEqual([]);
  await claims.measure(NEVER);
  const { blocks, bsize, files } = await statfs(root);
  const [own, other] = claims.all();
  expect(claims.all()).toHaveLength(2);
  expect(own).toMatchObject({
    ...{ name: 'data', claim: { namespace: 'default', name: 'a' } },
    disk: { usedBytes: 4096, inodesUsed: 3, capacityBytes: blocks * bsize, inodes: files, atMs: clock.now() },
  });
  expect(other).toMatchObject({ name: 'cache', claim: { name: 'b' } });
  const { usedBytes = 0, capacityBytes = 0 } = other!.disk;
  expect([usedBytes > 4096, capacityBytes]).toEqual([true, blocks * bsize]);
  expect(counted).toEqual(['a']);
  expect(claims.ofPod('u2').map(({ claim }) => claim.name)).toEqual(['b']);
});

it('measures a volume that several pods have once, and shows it once', async () => {
  ofNode = [aClaimed('a'), aClaimed('a', { podUid: 'u2' })];
  const claims = usages();
  await claims.measure(NEVER);
  expect(counted).toEqual(['a']);
  expect(claims.all()).toHaveLength(1);
  expect([claims.ofPod('u1'), claims.ofPod('u2')].map((found) => found.length)).toEqual([1, 1]);
});

it('measures once a period, and never where that is not positive', async () => {
  ofNode = [aClaimed('a')];
  const ending = new AbortController();
  const claims = usages();
  const running = claims.run(ending.signal);
  await untilTrue(() => counted.length === 1);
  await untilTrue(() => clock.pendingTimers > 0);
  await clock.advance(59_999);
  expect(counted).toHaveLength(1);
  await clock.advance(1);
  await untilTrue(() => counted.length === 2);
  ending.abort();
  await running;
  await usages({ periodMs: 0 }).run(NEVER);
  await usages({ periodMs: -1 }).run(NEVER);
  expect(counted).toHaveLength(2);
});

it('keeps the last numbers of a volume that cannot be measured, and forgets those that no pod has', async () => {
  ofNode = [aClaimed('a'), aClaimed('b', { podUid: 'u2' })];
  let fails = false;
  const claims = usages({
    measureFolder: (path) =>
      fails && path.endsWith('a') ? Promise.reject(new Error('du was killed')) : Promise.resolve(7n),
  });
  await claims.measure(NEVER);
  const measuredAtMs = clock.now();
  fails = true;
  await clock.advance(60_000);
  await claims.measure(NEVER);
  const timeOf = (name: string) => claims.all().find(({ claim }) => claim.name === name)?.disk.atMs;
  expect([timeOf('a'), timeOf('b')]).toEqual([measuredAtMs, measuredAtMs + 60_000]);
  ofNode = ofNode.slice(1);
  await claims.measure(NEVER);
  expect(claims.all().map(({ claim }) => claim.name)).toEqual(['b']);
});

it('measures the others while the file server of one does not answer', async () => {
  ofCluster = [aClaimed('a'), aClaimed('b', { podUid: 'u2' })];
  const looks = new BoundedLooks({ clock });
  const silent = new Promise<never>(() => undefined);
  const claims = usages({
    looks: { run: (path, look) => looks.run(path, path.endsWith('a') ? () => silent : look) },
  });
  const measuring = claims.measure(NEVER);
  await untilTrue(() => claims.all().length === 1);
  expect(claims.all()[0]?.claim.name).toBe('b');
  await clock.advance(10_000);
  await measuring;
});

it('leaves out the number of files where du cannot count them', async () => {
  ofNode = [aClaimed('a')];
  const claims = usages({ countInodes: () => Promise.reject(new Error('unknown option')) });
  await claims.measure(NEVER);
  expect(claims.all()[0]?.disk).toMatchObject({ usedBytes: 4096, inodesUsed: undefined });
});
