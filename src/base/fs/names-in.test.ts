import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namesIn } from './names-in.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-names-in-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('namesIn', () => {
  it('returns the names in a folder', async () => {
    await writeFile(join(folder, 'a'), '');
    await writeFile(join(folder, 'b'), '');
    expect((await namesIn(folder)).sort()).toEqual(['a', 'b']);
  });

  it('returns nothing if there is no folder', async () => {
    expect(await namesIn(join(folder, 'nowhere'))).toEqual([]);
  });

  it('does not treat an unreadable folder as empty', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(namesIn(join(folder, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
