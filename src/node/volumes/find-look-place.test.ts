import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MountEntry } from '#base/proc/mountinfo.js';
import { findLookPlace } from './find-look-place.js';

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-place-')));
  await mkdir(join(folder, 'disk'));
});
afterEach(() => rm(folder, { recursive: true }));

const mountAt = (mountPoint: string, fsType: string): MountEntry => ({
  ...{ mountPoint, fsType, shared: false, slave: false, restrictions: [] },
});
/** The place of a path below the folder, on a node with a disk and two file servers. */
async function placeOf(path: string): Promise<string> {
  const mounts = [
    mountAt('/', 'ext4'),
    mountAt(join(folder, 'disk'), 'xfs'),
    mountAt(join(folder, 'nfs'), 'nfs4'),
    mountAt(join(folder, 'disk/fuse'), 'fuse.s3fs'),
  ];
  const { name, mayHang } = await findLookPlace(join(folder, path), mounts);
  return `${name.replace(folder, '')} ${mayHang ? 'may hang' : 'is local'}`;
}

describe('the place of a look', () => {
  it.each([
    ['disk/data', '/disk is local'],
    ['missing/data', '/ is local'],
    ['nfs', '/nfs may hang'],
    ['nfs/a/b', '/nfs may hang'],
    ['disk/fuse/a', '/disk/fuse may hang'],
    ['disk/../nfs/a', '/nfs may hang'],
  ])('of %s is that of its mount: %s', async (path, place) => {
    expect(await placeOf(path)).toBe(place);
  });

  it.each([
    ['../nfs/exports', 'link/a', '/nfs may hang'],
    ['FOLDER/nfs', 'link', '/nfs may hang'],
    ['FOLDER/nfs/exports', 'link/../../disk', '/disk is local'],
    ['../disk', 'link/fuse', '/disk/fuse may hang'],
    ['fuse', 'link', '/disk/fuse may hang'],
    ['link', 'link/loop', '/disk is local'],
  ])('is found through links, none of which is followed blindly: %s, %s', async (target, path, place) => {
    await symlink(target.replace('FOLDER', folder), join(folder, 'disk/link'));
    expect(await placeOf(`disk/${path}`)).toBe(place);
  });
});
