import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFileInRoot } from './path-in-root.js';
import { readUsers } from './read-users.js';

let folder: string;
let root: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-users-'));
  root = join(folder, 'root');
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(folder, 'secret'), 'thief:x:0:0::/:\n');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the users of a root', () => {
  it('are those of its etc/passwd and etc/group', async () => {
    const passwd =
      'root:x:0:0:root:/root:/bin/sh\napp:x:1000:50::/srv:\napp:x:7:7::/:\n\n#x\nbad:x:y:0::/:\nshort\n';
    await writeFile(join(root, 'etc/passwd'), passwd);
    await writeFile(join(root, 'etc/group'), 'root:x:0:\nweb:x:33:app,root\nlog:x:4:app\nbad:x:-1:app\n');
    for (const where of [
      { kind: 'folder', path: root } as const,
      { kind: 'overlay', lowerDirs: [root], upperDir: '/none', workDir: '/none' } as const,
    ]) {
      const users = await readUsers(where);
      expect(users.findUser('app')).toEqual({ name: 'app', uid: 1000, gid: 50, home: '/srv' });
      expect(users.findUserById(0)?.home).toBe('/root');
      expect(users.findUser('bad')).toBeUndefined();
      expect(users.findUser('toString')).toBeUndefined();
      expect(users.findGroup('web')?.gid).toBe(33);
      expect(users.groupsOf('app')).toEqual([33, 4]);
      expect(users.groupsOf('nobody')).toEqual([]);
    }
  });

  it('are nobody where there are no such files', async () => {
    const users = await readUsers({ kind: 'folder', path: root });
    expect(users.findUser('root')).toBeUndefined();
    expect(users.groupsOf('root')).toEqual([]);
  });

  it('are those of this machine for the host', async () => {
    const users = await readUsers({ kind: 'host' });
    expect(users.findUser('root')?.uid).toBe(0);
  });

  it.each([
    ['a link out of the root', '../../secret'],
    ['a link to a place of the host', '/proc/self/status'],
    ['a link to itself', 'passwd'],
    ['a link to the folder', '.'],
  ])('are not read through %s', async (_what, target) => {
    await symlink(target, join(root, 'etc/passwd'));
    const users = await readUsers({ kind: 'folder', path: root });
    expect(users.findUser('thief')).toBeUndefined();
    expect(users.findUser('root')).toBeUndefined();
  });

  it('are not waited for where a named pipe is in the way', async () => {
    await promisify(execFile)('mkfifo', [join(root, 'etc/passwd')]);
    const users = await readUsers({ kind: 'folder', path: root });
    expect(users.findUser('root')).toBeUndefined();
    expect(users.faults).toEqual({ passwd: 'which is no regular file', group: undefined });
  });

  it('are nobody where the file is too large, which is told', async () => {
    await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:\n');
    await truncate(join(root, 'etc/passwd'), 2 ** 40);
    const users = await readUsers({ kind: 'folder', path: root });
    expect(users.findUser('root')).toBeUndefined();
    expect(users.faults.passwd).toMatch(/^which is too large/);
  });

  it('are found through links that stay inside, as a process in the root would see them', async () => {
    await mkdir(join(root, 'usr/etc'), { recursive: true });
    await writeFile(join(root, 'usr/etc/passwd'), 'in:x:5:5::/:\n');
    await symlink('/../../usr/etc/passwd', join(root, 'etc/passwd'));
    await symlink('../etc/passwd', join(root, 'etc/group'));
    const users = await readUsers({ kind: 'folder', path: root });
    expect(users.findUser('in')?.uid).toBe(5);
    expect(users.findGroup('in')?.gid).toBe(5);
  });
});

describe('opening in a root', () => {
  it('gives files alone, and leaves nothing open', async () => {
    await writeFile(join(root, 'etc/file'), 'x');
    await using file = await openFileInRoot(root, '/etc/../../etc/./file');
    expect(await file?.readFile('utf8')).toBe('x');
    for (const path of ['etc', '/', '', 'none', 'etc/file/x', '../secret'])
      expect(await openFileInRoot(root, path)).toBeUndefined();
  });
});
