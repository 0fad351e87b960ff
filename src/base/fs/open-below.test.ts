import {
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBelow, openPlace, UnsafePathError } from './open-below.js';

let folder: string;
let volume: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-below-')));
  volume = join(folder, 'volume');
  await mkdir(join(folder, 'outside'));
  await mkdir(volume);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The real path of the handle. */
async function open(path: string, mode = 0o755): Promise<string> {
  await using place = await openBelow(volume, path, mode);
  return await readlink(`/proc/self/fd/${place.handle.fd}`);
}
const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length;

describe('a path below a volume', () => {
  it('is opened if it exists, file or folder', async () => {
    await mkdir(join(volume, 'a/b'), { recursive: true });
    await writeFile(join(volume, 'a/file'), '');
    expect(await open('a/b')).toBe(join(volume, 'a/b'));
    expect(await open('./a//file/')).toBe(join(volume, 'a/file'));
    expect(await open('.')).toBe(volume);
  });

  it('is created if it is missing, the last folder with the requested mode', async () => {
    expect(await open('a/b/c', 0o2770)).toBe(join(volume, 'a/b/c'));
    expect((await stat(join(volume, 'a/b/c'))).mode & 0o7777).toBe(0o2770);
  });

  it('is created with the mode of any new folder by default', async () => {
    await using place = await openBelow(volume, 'a/b', undefined);
    await mkdir(join(volume, 'like-others'), 0o755);
    expect(place.facts.mode).toBe((await stat(join(volume, 'like-others'))).mode);
  });

  it('is opened in the open folder, whatever has taken its place', async () => {
    await using held = await openPlace(volume);
    await rename(volume, join(folder, 'aside'));
    await symlink(join(folder, 'outside'), volume);
    await using place = await openBelow(held.handle, 'a/b', 0o755);
    expect(await readlink(`/proc/self/fd/${place.handle.fd}`)).toBe(join(folder, 'aside/a/b'));
    expect(await readdir(join(folder, 'outside'))).toEqual([]);
  });

  it('may go through links that stay inside', async () => {
    await mkdir(join(volume, '..data/keys'), { recursive: true });
    await symlink('..data/keys', join(volume, 'keys'));
    expect(await open('keys')).toBe(join(volume, '..data/keys'));
    expect(await open('keys/new')).toBe(join(volume, '..data/keys/new'));
  });

  it.each([
    ['..', '/etc'],
    ['a/../b', '/etc'],
    ['/etc', '/etc'],
    ['link', '/etc'],
    ['link', '../outside'],
    ['link/below', '../outside'],
    ['link/missing/too', '../outside'],
    ['link', '../outside/missing'],
    ['link/x', 'link'],
  ])('is rejected if it leads outside: %s with a link to %s', async (path, target) => {
    await symlink(target, join(volume, 'link'));
    const before = await openFiles();
    await expect(open(path)).rejects.toThrow();
    expect(await readdir(join(folder, 'outside'))).toEqual([]);
    expect(await openFiles()).toBe(before);
  });

  it('is rejected with a reason', async () => {
    await symlink('/etc', join(volume, 'link'));
    await expect(open('link')).rejects.toThrow(new UnsafePathError('link leads out of the volume, to /etc'));
    await symlink('/no/such/folder', join(volume, 'dangling'));
    await expect(open('dangling/x')).rejects.toThrow('dangling leads out of the volume, to /no/such/folder');
    await symlink('../gone', join(volume, 'relative'));
    await expect(open('relative')).rejects.toThrow(
      `relative leads out of the volume, to ${join(folder, 'gone')}`,
    );
    await symlink('gone', join(volume, 'inside'));
    await expect(open('inside')).rejects.toThrow(
      `inside is a link to ${join(volume, 'gone')}, which is not there`,
    );
  });

  it('never leads outside, however often it is swapped for a link meanwhile', async () => {
    await mkdir(join(volume, 'a/b'), { recursive: true });
    const before = await openFiles();
    let isOver = false;
    const [place, aside] = [join(volume, 'a'), join(volume, 'aside')];
    const swap = async (): Promise<void> => {
      while (!isOver) {
        // The other side may have recreated what was missing for a moment.
        await rename(place, aside).catch(() => undefined);
        await symlink('/', place).catch(() => undefined);
        await rm(place, { recursive: true, force: true }).catch(() => undefined);
        await rename(aside, place).catch(() => undefined);
      }
    };
    const swapping = swap();
    const outcomes = { inside: 0, refused: 0 };
    let tries = 0;
    try {
      // Until both outcomes have occurred: a fast machine may find it swapped every time for a while.
      for (; tries < 300 || (outcomes.inside === 0 && tries < 30_000); tries++) {
        const found = await open('a/b').catch((error: unknown) => {
          outcomes.refused++;
          return String(error);
        });
        if (found.startsWith('/')) {
          expect(found.startsWith(`${volume}/`)).toBe(true);
          outcomes.inside++;
        }
      }
    } finally {
      isOver = true;
      await swapping;
    }
    expect(outcomes.inside + outcomes.refused).toBe(tries);
    expect(outcomes.inside).toBeGreaterThan(0);
    expect(await openFiles()).toBe(before);
  });
});
