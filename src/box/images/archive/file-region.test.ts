import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { commonFileHandle } from '#support/fakes/common-file-handle.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { openFile, readText } from './file-region.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-region-'));
  path = join(folder, 'blob');
  await writeFile(path, '0123456789');
});
afterEach(async () => rm(folder, { recursive: true }));

it('reads what lies in a part of a file, and as much of it as is there', async () => {
  expect(await readText({ path, start: 2, size: 3 })).toBe('234');
  expect(await readText({ path, start: 8, size: 5 })).toBe('89');
  expect(await findOpenBelow(folder)).toEqual([]);
});

it('keeps nothing open that is no file, or cannot be looked at', async () => {
  await expect(openFile(folder)).rejects.toThrow('is not a file');
  using _ = vi.spyOn(await commonFileHandle(), 'stat').mockRejectedValue(new Error('no disk'));
  await expect(openFile(path)).rejects.toThrow('no disk');
  expect(await findOpenBelow(folder)).toEqual([]);
});
