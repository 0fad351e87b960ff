import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packTar } from '#support/builders/pack-tar.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { Trash } from '../trash.js';
import { ChainStore, type LayersToUnpack } from './chain-store.js';
import { sha256Of } from './digest.js';
import { UNPACK_LIMITS } from './unpack-limits.js';

const NEVER = new AbortController().signal;
let folder: string;
let clock: FakeClock;
let log: LogRecorder;
let chains: ChainStore;
/** What the disk says to each sync. */
let syncDisk: () => Promise<void>;
let syncs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-chain-store-'));
  clock = new FakeClock();
  log = new LogRecorder();
  syncs = 0;
  syncDisk = () => Promise.resolve();
  chains = await ChainStore.open({
    folder: join(folder, 'roots'),
    trash: await Trash.open(join(folder, 'temporary'), log),
    ...{ logger: log, privileged: false, limits: UNPACK_LIMITS, clock, bootId: 'one boot' },
    syncDisk: () => {
      syncs++;
      return syncDisk();
    },
  });
});

afterEach(async () => {
  await chains.close();
  await rm(folder, { recursive: true, force: true });
});

/** An image of one layer with one file; its layer is stored besides, or is in an image folder only. */
function imageOf(content: string, isStored: boolean): LayersToUnpack {
  const archive = packTar([{ name: 'file', content }]);
  const digest = sha256Of(archive);
  const mediaType = 'application/vnd.oci.image.layer.v1.tar';
  async function* read(): AsyncGenerator<Buffer> {
    await Promise.resolve();
    yield archive;
  }
  const descriptor = { mediaType, digest, size: archive.length, annotations: {} };
  return { layers: [{ descriptor, diffId: digest, read }], areStored: () => isStored };
}

const unpack = (image: LayersToUnpack): Promise<string> =>
  chains.hold(image, NEVER, (chainId) => Promise.resolve(chainId));
const factsOf = (chainId: string): string => join(folder, 'roots', chainId.replace(':', '-'), 'facts.json');
const isMarked = async (chainId: string): Promise<boolean> =>
  (await readFile(factsOf(chainId), 'utf8')).includes('one boot');
const failing = (): Promise<void> => Promise.reject(new Error('the disk has failed'));

describe('what is unpacked', () => {
  it('is synced by the next sync where one has failed', async () => {
    const chainId = await unpack(imageOf('a', true));
    syncDisk = failing;
    await clock.advance(60_000);
    expect(await isMarked(chainId)).toBe(true);
    expect(log.complaints).toMatchObject([{ fields: { err: 'the disk has failed' } }]);
    syncDisk = () => Promise.resolve();
    await clock.advance(60_000);
    await expect.poll(() => isMarked(chainId)).toBe(false);
    expect(syncs).toBe(2);
    // Nothing is left to sync.
    await expect.poll(() => clock.pendingTimers).toBe(0);
  });

  it('of an image folder is confirmed after a sync that failed, and synced later', async () => {
    syncDisk = failing;
    const chainId = await unpack(imageOf('a', false));
    expect(log.complaints).toHaveLength(1);
    expect(await isMarked(chainId)).toBe(true);
    syncDisk = () => Promise.resolve();
    await clock.advance(60_000);
    await expect.poll(() => isMarked(chainId)).toBe(false);
  });

  it('counts as synced only once its facts say so', async () => {
    const chainId = await unpack(imageOf('a', true));
    await clock.advance(59_000);
    const ended = clock.advance(1000);
    // The timer's sync is under way.
    await unpack(imageOf('a', false));
    expect(await isMarked(chainId)).toBe(false);
    await ended;
  });

  it('is synced where the facts of another one cannot be written', async () => {
    const broken = await unpack(imageOf('a', true));
    const whole = await unpack(imageOf('b', true));
    await rm(join(factsOf(broken), '..'), { recursive: true });
    await clock.advance(60_000);
    await expect.poll(() => isMarked(whole)).toBe(false);
    await expect.poll(() => log.complaints).toMatchObject([{ fields: { chainId: broken } }]);
    await chains.collect(() => false);
    await clock.advance(60_000);
    expect(log.complaints).toHaveLength(1);
  });

  it('may be removed while it is being synced', async () => {
    await unpack(imageOf('a', true));
    const whole = await unpack(imageOf('b', true));
    syncDisk = () => chains.collect((chainId) => chainId === whole);
    await clock.advance(60_000);
    await expect.poll(() => isMarked(whole)).toBe(false);
    expect(await readdir(join(folder, 'roots'))).toHaveLength(1);
    expect(log.complaints).toEqual([]);
  });
});
