import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLinkFree } from './link-free-folder.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-link-free-'));
  await mkdir(join(root, 'pod/container'), { recursive: true });
  await writeFile(join(root, 'pod/container/0.log'), 'own');
  await mkdir(join(root, 'outside/container'), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length;

describe('a folder that is opened without links', () => {
  it('stays the same when another takes its place', async () => {
    await using folder = await openLinkFree(join(root, 'pod/container'));
    await rename(join(root, 'pod/container'), join(root, 'pod/aside'));
    await symlink(join(root, 'outside'), join(root, 'pod/container'));
    expect(await readFile(join(folder.path, '0.log'), 'utf8')).toBe('own');
  });

  it.each([
    ['pod/container', 'outside'],
    ['pod', 'outside'],
  ])('is rejected if %s is a link', async (link, target) => {
    await rm(join(root, link), { recursive: true });
    await symlink(join(root, target), join(root, link));
    const before = await openFiles();
    await expect(openLinkFree(join(root, 'pod/container'))).rejects.toThrow('ENOTDIR');
    expect(await openFiles()).toBe(before);
  });

  it('may be behind links further up', async () => {
    await symlink(root, `${root}-link`);
    try {
      await using folder = await openLinkFree(join(`${root}-link`, 'pod/container'));
      expect(await readdir(folder.path)).toEqual(['0.log']);
    } finally {
      await rm(`${root}-link`);
    }
  });

  it('reports that it does not exist', async () => {
    await expect(openLinkFree(join(root, 'pod/other'))).rejects.toThrow('ENOENT');
  });
});
