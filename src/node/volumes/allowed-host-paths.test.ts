import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAllowedHostPath } from '#kube/node/node-policy.js';
import { type HostPathType } from '#kube/pod/volume.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { AllowedHostPaths } from './allowed-host-paths.js';

let top: string;
let allowed: AllowedHostPaths;

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'podloop-host-')));
  await mkdir(join(top, 'open/data'), { recursive: true });
  await mkdir(join(top, 'closed'));
  allow('open');
});
afterEach(async () => {
  expect(await findOpenBelow(top)).toEqual([]);
  await rm(top, { recursive: true, force: true });
});

/** Each as `path` or `path:ro`, below the test's folder. */
function allow(...paths: readonly string[]): void {
  allowed = new AllowedHostPaths(paths.map((path) => parseAllowedHostPath(`${top}/${path}`)));
}
const check = (path: string): Promise<void> => allowed.check(`${top}/${path}`);

/** What was opened, below the test's folder. */
async function open(path: string, type: HostPathType = ''): Promise<string> {
  await using place = await allowed.open({ path: `${top}/${path}`, type });
  return (await realpath(`/proc/self/fd/${place.handle.fd}`)).slice(top.length + 1);
}
const contentOf = (path: string): Promise<string[]> => readdir(join(top, path), { recursive: true });

describe('an allowed path', () => {
  it.each(['open', 'open/data', 'open/data/', 'open/./data', 'open//data/not/there/yet'])(
    'lets pods mount %s, and a check creates nothing',
    async (path) => {
      await expect(check(path)).resolves.toBeUndefined();
      expect(await contentOf('open')).toEqual(['data']);
      expect(await open(path)).toBe(path.replace('//', '/').replace('/./', '/').replace(/\/$/, ''));
    },
  );

  it.each(['closed', 'openly', '.', 'open/../closed'])('does not let pods mount %s', async (path) => {
    await expect(check(path)).rejects.toThrow('is not below a path of');
    await expect(open(path, 'DirectoryOrCreate')).rejects.toThrow('is not below a path of');
  });

  it('need not exist: what is below it is created all the same', async () => {
    allow('later/deep');
    expect(await open('later/deep/folder', 'DirectoryOrCreate')).toBe('later/deep/folder');
    allow('file');
    expect(await open('file', 'FileOrCreate')).toBe('file');
  });

  it('may be a link itself, and holds links that stay below it', async () => {
    await symlink('data', join(top, 'open/link'));
    await symlink(join(top, 'open/data'), join(top, 'open/absolute'));
    for (const name of ['link', 'absolute']) expect(await open(`open/${name}/x`)).toBe('open/data/x');
    await symlink('closed', join(top, 'entry'));
    allow('entry');
    expect(await open('entry/x')).toBe('closed/x');
  });
});

describe('a link out of an allowed path', () => {
  const TYPES: HostPathType[] = [
    ...(['', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket'] as const),
    ...(['CharDevice', 'BlockDevice'] as const),
  ];
  const TARGETS = [
    '../closed',
    '../../../../../../..',
    'data/../../closed',
    '../closed/made',
    '../gone/away',
  ];

  it.each(
    TARGETS.flatMap((target) => ['', '/secret', '/made/later'].map((below) => [target, below] as const)),
  )('to %s is refused with %j behind it, whatever its type, and nothing is made', async (target, below) => {
    await writeFile(join(top, 'closed/secret'), '');
    await symlink(target, join(top, 'open/link'));
    const path = `open/link${below}`;
    await expect(check(path)).rejects.toThrow(`hostPath ${top}/${path} is not allowed: `);
    for (const type of TYPES) {
      await expect(open(path, type)).rejects.toThrow(`hostPath ${top}/${path} is not allowed: `);
    }
    expect(await contentOf('closed')).toEqual(['secret']);
    expect((await readdir(top)).sort()).toEqual(['closed', 'open']);
  });

  it('is refused in words', async () => {
    await symlink('../closed', join(top, 'open/link'));
    await expect(check('open/link')).rejects.toThrow(
      `hostPath ${top}/open/link is not allowed: link leads out of ${top}/open of --allowed-host-paths, to ${top}/closed`,
    );
    await symlink('data/none', join(top, 'open/nowhere'));
    await expect(open('open/nowhere', 'FileOrCreate')).rejects.toThrow(
      `hostPath ${top}/open/nowhere is not allowed: nowhere is a link to ${top}/open/data/none, which is not there`,
    );
  });

  it('is no beginning either: a path below one that pods may write to adds nothing', async () => {
    await symlink('../closed', join(top, 'open/link'));
    allow('open', 'open/link');
    await expect(check('open/link')).rejects.toThrow(' leads out of ');
    allow('open/link', 'open', 'open');
    await expect(open('open/link/x')).rejects.toThrow(' leads out of ');
  });

  it.each([
    ['entry', 'open/data', 'entry'],
    ['entry', '$TOP/open/data', 'entry:ro'],
    ['entry/deeper', 'open', 'entry/deeper'],
    ['entry', 'open', 'entry:ro'],
    ['entry', 'other/link', 'entry'],
  ])(
    'is none that another path may lead through: %s, a link to %s, allowed as %s',
    async (path, target, text) => {
      await mkdir(join(top, 'open/data/deeper'), { recursive: true });
      await mkdir(join(top, 'open/deeper'));
      await mkdir(join(top, 'other'));
      await symlink('../open/data', join(top, 'other/link'));
      await symlink(target.replace('$TOP', top), join(top, 'entry'));
      allow('open', text);
      await expect(check(path)).rejects.toThrow(
        `is not allowed: links lead from ${top}/${path} of --allowed-host-paths into ${top}/open, where pods may write`,
      );
      expect(await open('open/data')).toBe('open/data');
      allow('open:ro', text);
      await expect(check(path)).resolves.toBeUndefined();
    },
  );
});

describe('a type', () => {
  it('creates folders with mode 0755 and files with 0644, and changes nothing that exists', async () => {
    expect(await open('open/a/b', 'DirectoryOrCreate')).toBe('open/a/b');
    expect(await open('open/a/file', 'FileOrCreate')).toBe('open/a/file');
    expect((await stat(join(top, 'open/a/b'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(top, 'open/a/file'))).mode & 0o777).toBe(0o644);
    await writeFile(join(top, 'open/a/file'), 'content');
    await chmod(join(top, 'open/a/file'), 0o600);
    await open('open/a/file', 'FileOrCreate');
    expect(await readFile(join(top, 'open/a/file'), 'utf8')).toBe('content');
    expect((await stat(join(top, 'open/a/file'))).mode & 0o777).toBe(0o600);
  });

  it('creates no folder for a file', async () => {
    const path = 'open/none/file';
    await expect(open(path, 'FileOrCreate')).rejects.toThrow(
      `hostPath type check failed: ${top}/${path} is not a file`,
    );
    expect(await contentOf('open')).toEqual(['data']);
  });

  it.each([
    ['Directory', 'a directory'],
    ['File', 'a file'],
    ['Socket', 'a socket file'],
    ['CharDevice', 'a character device'],
    ['BlockDevice', 'a block device'],
  ] as const)('%s wants exactly that', async (type, words) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(top, 'open/socket'), resolve));
    await writeFile(join(top, 'open/file'), '');
    const fits = { Directory: 'data', File: 'file', Socket: 'socket', CharDevice: '', BlockDevice: '' }[type];
    for (const name of ['data', 'file', 'socket', 'missing']) {
      const opening = open(`open/${name}`, type);
      if (name === fits) expect(await opening).toBe(`open/${name}`);
      else {
        await expect(opening).rejects.toThrow(
          `hostPath type check failed: ${top}/open/${name} is not ${words}`,
        );
      }
    }
    await new Promise((resolve) => server.close(resolve));
  });
});
