import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { commonFileHandle } from '#support/fakes/common-file-handle.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { openLogFile } from './open-log-file.js';

let root: string;
let path: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-log-file-'));
  path = join(root, 'pod/container/0.log');
});
afterEach(() => rm(root, { recursive: true, force: true }));

it('writes behind what is in a log, in a folder that it makes', async () => {
  for (const line of ['one\n', 'two\n']) {
    await using file = await openLogFile(path);
    await file.write(line);
  }
  expect(await readFile(path, 'utf8')).toBe('one\ntwo\n');
});

it('writes nowhere when nobody wants it', async () => {
  await using file = await openLogFile('/dev/null');
  expect((await file.write('x')).bytesWritten).toBe(1);
});

it('follows no link, to the file or to its folder', async () => {
  const outside = join(root, 'outside');
  await mkdir(outside);
  await mkdir(dirname(path), { recursive: true });
  await symlink(join(outside, 'file'), path);
  await expect(openLogFile(path)).rejects.toThrow('ELOOP');
  await rm(dirname(path), { recursive: true });
  await symlink(outside, dirname(path));
  await expect(openLogFile(path)).rejects.toThrow('ENOTDIR');
  expect(await readdir(outside)).toEqual([]);
});

it('does not wait for who reads a pipe that was put in its place', async () => {
  await mkdir(dirname(path), { recursive: true });
  execFileSync('mkfifo', [path]);
  await expect(openLogFile(path)).rejects.toThrow('0.log is not a file');
});

it('keeps nothing open of a log that cannot be looked at', async () => {
  using _ = vi.spyOn(await commonFileHandle(), 'stat').mockRejectedValue(new Error('no disk'));
  await expect(openLogFile(path)).rejects.toThrow('no disk');
  expect(await findOpenBelow(root)).toEqual([]);
});
