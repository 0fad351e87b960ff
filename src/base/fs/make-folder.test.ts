import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from './make-folder.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-make-folder-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('makeFolder', () => {
  it('creates missing parents, all with the mode, and does not change existing ones', async () => {
    await makeFolder(join(folder, 'a/b/c'), 0o700);
    for (const each of ['a', 'a/b', 'a/b/c'])
      expect((await stat(join(folder, each))).mode & 0o777).toBe(0o700);
    await makeFolder(join(folder, 'a/b'), 0o755);
    expect((await stat(join(folder, 'a/b'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, 'a/b'))).toEqual(['c']);
  });

  it.skipIf(process.getuid?.() !== 0)('reports that a disk is read-only (needs root)', async () => {
    const run = promisify(execFile);
    await run('mount', ['-t', 'tmpfs', '-o', 'ro', 'podloop-test', folder]);
    try {
      for (const each of ['a', 'a/b'])
        await expect(makeFolder(join(folder, each))).rejects.toMatchObject({ code: 'EROFS' });
    } finally {
      await run('umount', [folder]);
    }
  });

  it('succeeds when several create the same folder at once', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => makeFolder(join(folder, `x/y/${index % 3}`))),
    );
    expect((await readdir(join(folder, 'x/y'))).sort()).toEqual(['0', '1', '2']);
  });

  it.skipIf(process.platform !== 'linux').each(['/proc/x', '/proc/x/y/z', '/proc/sys/x'])(
    'rejects for %s, where nothing can be made',
    async (path) => {
      await expect(makeFolder(path)).rejects.toThrow(/ENOENT|EACCES/);
    },
  );

  it.each(['file', 'file/below', 'nowhere', 'nowhere/below'])(
    'rejects for %s, which is no folder',
    async (name) => {
      await writeFile(join(folder, 'file'), '');
      await symlink(join(folder, 'missing/target'), join(folder, 'nowhere'));
      await expect(makeFolder(join(folder, name))).rejects.toThrow(/EEXIST|ENOTDIR/);
    },
  );
});
