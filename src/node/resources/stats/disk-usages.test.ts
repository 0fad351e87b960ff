import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diskAt, imageDisks, logUse, usedOf } from './disk-usages.js';

const AT_MS = 5;
const DISK = { atMs: AT_MS, capacityBytes: 100, availableBytes: 60, usedBytes: 40 };
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-disks-'));
  await mkdir(join(root, 'logs/shop_web_u1/main'), { recursive: true });
  for (const name of ['0.log', '0.log.1', '1.log'])
    await writeFile(join(root, 'logs/shop_web_u1/main', name), 'x'.repeat(5_000));
  await symlink('/proc/kcore', join(root, 'logs/shop_web_u1/main/link'));
  await writeFile(join(root, 'secret'), 'x');
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

describe('a file system', () => {
  it('is as large as statfs says, and what is free and used of it makes no more than the whole', async () => {
    const disk = (await diskAt(root, AT_MS))!;
    expect(disk.atMs).toBe(AT_MS);
    expect(disk.usedBytes).toBeLessThanOrEqual(disk.capacityBytes!);
    expect(disk.inodes).toBe(disk.inodesFree! + disk.inodesUsed!);
    expect(await diskAt(join(root, 'nothing'), AT_MS)).toBeUndefined();
  });

  it('holds what somebody uses of it, at the time of that where it has one of its own', () => {
    const used = { usedBytes: 7, inodesUsed: undefined };
    expect(usedOf(DISK, used)).toMatchObject({ atMs: AT_MS, capacityBytes: 100, usedBytes: 7 });
    expect(usedOf(DISK, { ...used, atMs: 9 }).atMs).toBe(9);
    expect(usedOf(undefined, { ...used, atMs: 9 })).toEqual({ atMs: 9, usedBytes: 7, inodesUsed: undefined });
  });

  it('of images and containers is where the runtime has them, and without a size where that is not there', async () => {
    const at = (mountpoint: string) => ({ atMs: 9, mountpoint, usedBytes: 3, inodesUsed: 2 });
    const disks = await imageDisks({ images: at(root), containers: at(join(root, 'nothing')) }, AT_MS);
    expect(disks.images).toMatchObject({
      atMs: 9,
      usedBytes: 3,
      capacityBytes: expect.any(Number) as number,
    });
    expect(disks.containers).toEqual({ atMs: 9, usedBytes: 3, inodesUsed: 2 });
    expect(await imageDisks({ images: undefined, containers: undefined }, AT_MS)).toEqual({
      ...{ images: undefined, containers: undefined },
    });
  });
});

describe('the logs of a container', () => {
  const use = (path: string) => logUse(path, join(root, 'logs'), DISK);

  it('are the files beside the one that is written, links not followed', async () => {
    const found = await use(join(root, 'logs/shop_web_u1/main/1.log'));
    expect(found).toMatchObject({ atMs: AT_MS, capacityBytes: 100, inodesUsed: 4 });
    expect(found?.usedBytes).toBeGreaterThanOrEqual(15_000);
    expect(found?.usedBytes).toBeLessThan(1_000_000);
  });

  it('are counted below the folder of logs alone, whatever path somebody gave a container', async () => {
    const paths = [
      ...[join(root, 'secret'), join(root, 'logs/../secret'), join(root, 'logs/x.log'), '/etc/passwd', '/x'],
      ...['', 'relative/0.log', join(root, 'logs/shop_web_u1/nothing/0.log')],
    ];
    for (const path of paths) expect([path, await use(path)]).toEqual([path, undefined]);
  });
});
