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
  it('has what is in a folder', async () => {
    await writeFile(join(folder, 'a'), '');
    await writeFile(join(folder, 'b'), '');
    expect((await namesIn(folder)).sort()).toEqual(['a', 'b']);
  });

  it('has nothing where there is no folder', async () => {
    expect(await namesIn(join(folder, 'nowhere'))).toEqual([]);
  });

  it('takes nothing for an empty folder that cannot be read', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(namesIn(join(folder, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
