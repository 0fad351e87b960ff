import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeMounts } from '#support/fakes/fake-mounts.js';
import { VolumePaths } from './volume-paths.js';
import { VolumeRemover } from './volume-remover.js';

const MINUTE_MS = 60_000;
let folder: string;
let clock: FakeClock;
let mounts: FakeMounts;
let remover: VolumeRemover;
let cache: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-remover-'));
  clock = new FakeClock();
  mounts = new FakeMounts();
  const paths = new VolumePaths(folder);
  remover = new VolumeRemover({ paths, mounter: mounts, readMounts: mounts.read, clock });
  cache = paths.volumeFolder('u1', 'kubernetes.io~empty-dir', 'cache');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('what is mounted for a pod', () => {
  it('goes from the top down', async () => {
    const part = join(folder, 'u1/volume-subpaths/cache/c/0');
    mounts.add(cache);
    mounts.add(part, 'ext4');
    await remover.remove('u1');
    expect(mounts.calls).toEqual([`unmount ${part}`, `unmount ${cache}`]);
  });

  it('is not taken away below what the agent mounts, nor where it mounts nothing but memory', async () => {
    for (const [place, fsType] of [
      [join(folder, 'u1/volume-subpaths/cache/c/0/deeper'), 'ext4'],
      [join(cache, 'deeper'), 'tmpfs'],
      [cache, 'ext4'],
    ] as const) {
      mounts.entries = [];
      mounts.add(place, fsType);
      await expect(remover.remove('u1')).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    }
    expect(mounts.calls).toEqual([]);
  });

  it('keeps its folders when something is mounted there just as it is taken away', async () => {
    await mkdir(cache, { recursive: true });
    mounts.add(cache);
    const unmount = mounts.unmount.bind(mounts);
    mounts.unmount = async (...given) => {
      await unmount(...given);
      mounts.add(join(cache, 'theirs'), 'ext4');
    };
    await expect(remover.remove('u1')).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    expect(await readdir(join(cache, '..'))).toEqual(['cache']);
  });

  it('has a minute each time that it is mounted and in use', async () => {
    mounts.busy.add(cache);
    mounts.add(cache);
    await expect(remover.remove('u1')).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    await clock.advance(MINUTE_MS);
    // Somebody else has unmounted it, and later it is mounted once more.
    mounts.entries = [];
    await remover.remove('u1');
    mounts.add(cache);
    await expect(remover.remove('u1')).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    await clock.advance(MINUTE_MS);
    await remover.remove('u1');
    expect(mounts.calls.at(-1)).toBe(`unmount ${cache} lazily`);
  });
});
