import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ImageDisk } from './image-disk.js';

const never = new AbortController().signal;
const at = (mountpoint: string | undefined) =>
  mountpoint === undefined ? undefined : { atMs: 0, mountpoint, usedBytes: 1, inodesUsed: 1 };

let rootDir: string;
let mounts: { readonly images?: string; readonly containers?: string } | Error;
let asked: number;
let disk: ImageDisk;

beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'podloop-disk-'));
  asked = 0;
  disk = new ImageDisk({
    rootDir,
    usage: {
      imageFilesystems: async () => {
        asked++;
        if (mounts instanceof Error) throw mounts;
        const { images, containers } = mounts;
        return Promise.resolve({ images: at(images), containers: at(containers) });
      },
    },
  });
});
afterEach(async () => rm(rootDir, { recursive: true }));

it.each([
  [{ images: '/proc' }, true],
  [{ images: tmpdir() }, false],
  // They write beside the agent's files.
  [{ images: '/proc', containers: tmpdir() }, false],
  [{}, false],
])('images at %o have a disk of their own: %s; asked once', async (where, isOwn) => {
  mounts = where;
  expect(await disk.isOwn(never)).toBe(isOwn);
  expect(await disk.isOwn(never)).toBe(isOwn);
  expect(await disk.mounts(never)).toEqual({ images: undefined, containers: undefined, ...where });
  expect(asked).toBe(1);
});

it('they have none as long as the runtime does not say, which is asked again', async () => {
  mounts = new Error('no answer');
  expect(await disk.isOwn(never)).toBe(false);
  await expect(disk.mounts(never)).rejects.toThrow('no answer');
  mounts = { images: '/proc' };
  expect(await disk.isOwn(never)).toBe(true);
  const aborted = AbortSignal.abort(new Error('no more'));
  mounts = new Error('no answer');
  await expect(
    new ImageDisk({
      rootDir,
      usage: { imageFilesystems: async () => Promise.reject(mounts as Error) },
    }).isOwn(aborted),
  ).rejects.toThrow('no more');
});
