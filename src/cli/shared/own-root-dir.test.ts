import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimSharedFolder, mayBeOf, ownRootDir } from './own-root-dir.js';

const UID = process.geteuid!();
const SOMEBODY = UID + 1;

describe('the root folder of somebody who is not root', () => {
  it.each([
    [{ XDG_STATE_HOME: '/state', HOME: '/home/ann' }, '/state/podloop'],
    [{ HOME: '/home/ann' }, '/home/ann/.local/state/podloop'],
    [{ XDG_STATE_HOME: '', HOME: '/home/ann' }, '/home/ann/.local/state/podloop'],
    [{ XDG_STATE_HOME: 'state', HOME: '/home/ann' }, '/home/ann/.local/state/podloop'],
    [{ XDG_STATE_HOME: '/state' }, '/state/podloop'],
    [{ HOME: 'ann' }, '/tmp/podloop'],
    [{ HOME: '' }, '/tmp/podloop'],
    [{}, '/tmp/podloop'],
  ])('is where his states are: %j', (env: Readonly<Record<string, string | undefined>>, path) => {
    expect(ownRootDir(env)).toBe(path);
  });
});

describe('a root folder where everybody may make one', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-shared-'));
    path = join(folder, 'podloop');
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const modeOf = async (): Promise<number> => (await stat(path)).mode & 0o777;

  it('is made for this user alone, and taken again', async () => {
    for (let time = 1; time <= 2; time++) {
      await claimSharedFolder(path);
      expect(await modeOf()).toBe(0o700);
    }
  });

  it('is closed to others where it is his', async () => {
    await mkdir(path);
    await chmod(path, 0o777);
    await claimSharedFolder(path);
    expect(await modeOf()).toBe(0o700);
  });

  it('is refused as it is where somebody else has made it', async () => {
    await mkdir(path);
    await chmod(path, 0o755);
    await expect(claimSharedFolder(path, SOMEBODY)).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
      message: expect.stringMatching(/belongs to the user \d+, .* set HOME, or name another/) as string,
    });
    expect(await modeOf()).toBe(0o755);
  });

  it('is refused where it is a link or a file', async () => {
    const other = join(folder, 'other');
    await mkdir(other);
    await symlink(other, path);
    await expect(claimSharedFolder(path)).rejects.toMatchObject({ code: 'FOLDER_UNUSABLE' });
    await rm(path);
    await writeFile(path, '');
    await expect(claimSharedFolder(path)).rejects.toThrow(/podloop is no folder/);
  });

  it('is refused with the reason of the system where it cannot be made', async () => {
    await expect(claimSharedFolder(join(path, 'below'))).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
      message: expect.stringMatching(/cannot be used: ENOENT/) as string,
    });
  });

  it('may be his while it is not there, and not where it is of somebody else or no folder', async () => {
    expect(mayBeOf(UID, path)).toBe(true);
    await mkdir(path);
    expect([mayBeOf(UID, path), mayBeOf(SOMEBODY, path)]).toEqual([true, false]);
    const link = join(folder, 'link');
    await symlink(path, link);
    expect(mayBeOf(UID, link)).toBe(false);
  });
});
