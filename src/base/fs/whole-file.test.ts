import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeWhole } from './whole-file.js';

it('leaves a file as it is on a full disk, and says which one it is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-whole-file-'));
  try {
    const path = join(folder, 'file');
    await writeWhole(path, 'before');
    await symlink('/dev/full', `${path}.tmp`);
    await expect(writeWhole(path, 'after')).rejects.toMatchObject({
      ...{ code: 'ENOSPC', path, message: `ENOSPC: no space left on device, write '${path}'` },
    });
    expect([await readFile(path, 'utf8'), await readdir(folder)]).toEqual(['before', ['file']]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
