import { spawnSync } from 'node:child_process';
import { link, lstat, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { commonFileHandle } from '#support/fakes/common-file-handle.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { writeInPlace } from './write-in-place.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-in-place-'));
  file = join(folder, 'file');
});
afterEach(() => rm(folder, { recursive: true }));

it('writes a file whole, also a shorter text, and keeps which file it is', async () => {
  await writeInPlace(file, 'a long text', 0o644);
  const { ino } = await stat(file);
  await writeInPlace(file, 'short', 0o666);
  expect(await readFile(file, 'utf8')).toBe('short');
  expect(await stat(file)).toMatchObject({ ino, mode: 0o100666 });
});

it('keeps nothing open of a file that cannot be looked at', async () => {
  await writeInPlace(file, 'text', 0o644);
  using _ = vi.spyOn(await commonFileHandle(), 'stat').mockRejectedValue(new Error('no disk'));
  await expect(writeInPlace(file, 'other', 0o644)).rejects.toThrow('no disk');
  expect(await findOpenBelow(folder)).toEqual([]);
});

it('leaves a file alone that says it already', async () => {
  await writeInPlace(file, 'same', 0o644);
  const { mtimeNs } = await stat(file, { bigint: true });
  await writeInPlace(file, 'same', 0o644);
  expect((await stat(file, { bigint: true })).mtimeNs).toBe(mtimeNs);
});

describe('what somebody put in the place of the file', () => {
  it.each<[string, (outside: string) => Promise<unknown>]>([
    ['a link', (outside) => symlink(outside, file)],
    ['a link that leads nowhere', () => symlink(join(folder, 'nowhere'), file)],
    ['a second name of another file', (outside) => link(outside, file)],
    ['a FIFO, which would hold up whoever opens it', () => Promise.resolve(spawnSync('mkfifo', [file]))],
  ])('is replaced and not written to: %s', async (_what, plant) => {
    const outside = join(folder, 'outside');
    await writeFile(outside, 'kept');
    await plant(outside);
    await writeInPlace(file, 'ours', 0o644);
    expect(await readFile(outside, 'utf8')).toBe('kept');
    const facts = await lstat(file);
    expect([facts.isFile(), facts.nlink]).toEqual([true, 1]);
    expect(await readFile(file, 'utf8')).toBe('ours');
    await expect(stat(join(folder, 'nowhere'))).rejects.toThrow('ENOENT');
  });

  it('is an error when it is a folder, with which nothing is done', async () => {
    await expect(writeInPlace(folder, 'text', 0o644)).rejects.toThrow('EISDIR');
  });
});
