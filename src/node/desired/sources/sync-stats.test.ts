import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SyncStats } from './sync-stats.js';

it('knows files of a disk of this machine, and says nothing of what is not there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-quick-stats-'));
  try {
    await writeFile(join(folder, 'there'), 'five!');
    // An answer may be slow on a busy machine, and is the last one then; not each time.
    let size: bigint | undefined;
    for (let attempt = 0; attempt < 100 && size === undefined; attempt++) {
      const stats = await SyncStats.in(folder);
      expect(stats.find(join(folder, 'not there'))).toBeUndefined();
      expect(stats.find(join(folder, 'there', 'below a file'))).toBeUndefined();
      size = stats.find(join(folder, 'there'))?.size;
    }
    expect(size).toBe(5n);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('asks nothing of a file system of another kind, which might hang', async () => {
  const stats = await SyncStats.in('/proc');
  expect(stats.find('/proc/self/status')).toBeUndefined();
});

it('cannot be had for a folder that is not there', async () => {
  await expect(SyncStats.in('/proc/not/there')).rejects.toThrow('ENOENT');
});
