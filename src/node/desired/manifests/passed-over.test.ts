import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listPassedOver } from './passed-over.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'podloop-passed-over-'))));
afterEach(() => rm(folder, { recursive: true }));

it('names what an agent does not read where somebody may think that it counts, and why', async () => {
  for (const name of ['inside', 'inside.yaml', '.git', '..data.yaml']) await mkdir(join(folder, name));
  for (const name of ['web.yaml', '.hidden.yaml', '.gitignore', 'notes.txt', 'web.yaml.bak', 'web.yaml~'])
    await writeFile(join(folder, name), '');
  expect(await listPassedOver(folder)).toEqual([
    { file: join(folder, '.hidden.yaml'), reason: 'is hidden: its name begins with a dot' },
    { file: join(folder, 'inside'), reason: 'is a folder; only the files of the folder itself are read' },
    { file: join(folder, 'notes.txt'), reason: 'does not end with .yaml, .yml, .json or .manifest' },
    { file: join(folder, 'web.yaml.bak'), reason: 'is a copy by its name' },
  ]);
});

it('finds nothing in what is no folder', async () => {
  await writeFile(join(folder, 'web.yaml'), '');
  for (const path of [join(folder, 'web.yaml'), join(folder, 'nosuch'), '-'])
    expect(await listPassedOver(path)).toEqual([]);
});
