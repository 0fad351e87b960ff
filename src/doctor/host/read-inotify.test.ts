import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles } from '../facts/host-files.js';
import { ProcessOwners } from './process-owners.js';
import { readInotify } from './read-inotify.js';

let root: string;
let files: HostFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
  await mkdir(join(root, 'proc/sys/fs/inotify'), { recursive: true });
  for (const [name, limit] of Object.entries({ instances: '128', watches: '65536' }))
    await writeFile(join(root, `proc/sys/fs/inotify/max_user_${name}`), `${limit}\n`);
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const answering = (code: string) => () => Promise.resolve(code);
const nobodys = () => new ProcessOwners(files, []);

describe('inotify', () => {
  it('is used up where no instance or no watch is left for one more file', async () => {
    const limits = { instances: 128, watches: 65_536 };
    const isRoot = true;
    expect(await readInotify(files, nobodys(), { isRoot, tryWatch: answering('') })).toEqual(limits);
    expect(await readInotify(files, nobodys(), { isRoot, tryWatch: answering('EMFILE') })).toEqual({
      ...{ ...limits, usedUp: 'instances', holders: [] },
    });
    expect(await readInotify(files, nobodys(), { isRoot, tryWatch: answering('ENOSPC') })).toEqual({
      ...{ ...limits, usedUp: 'watches' },
    });
  });

  it('names who of root has the most instances where these are used up', async () => {
    const add = async (pid: number, uid: number, instances: number): Promise<void> => {
      const folder = join(root, `proc/${pid}`);
      await mkdir(join(folder, 'fd'), { recursive: true });
      await writeFile(
        join(folder, 'stat'),
        `${pid} (p${pid}) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 9 0 1 9 9\n`,
      );
      await writeFile(join(folder, 'status'), `Name:\tp\nUid:\t${uid}\t0\t0\t0\n`);
      for (let fd = 0; fd < instances; fd++) await symlink('anon_inode:inotify', join(folder, `fd/${fd}`));
      await symlink('/dev/null', join(folder, `fd/${instances}`));
    };
    for (const [pid, instances] of [3, 0, 90, 1, 30].entries()) await add(pid + 1, 0, instances);
    await add(9, 1_000, 120);
    const tryWatch = answering('EMFILE');
    const { holders } = await readInotify(files, nobodys(), { isRoot: true, tryWatch });
    expect(holders).toEqual([
      { pid: 3, command: 'p3', instances: 90 },
      { pid: 5, command: 'p5', instances: 30 },
      { pid: 1, command: 'p1', instances: 3 },
    ]);
  });

  it('is not known for another reason, and by another user than that of the runtime', async () => {
    await expect(
      readInotify(files, nobodys(), { isRoot: true, tryWatch: answering('ENOENT') }),
    ).rejects.toThrow('ENOENT');
    await expect(readInotify(files, nobodys(), { isRoot: false })).rejects.toThrow('EACCES');
  });

  it('of this machine can be tried, which leaves nothing behind', async () => {
    const { usedUp } = await readInotify(files, nobodys(), { isRoot: true });
    expect([undefined, 'instances', 'watches']).toContain(usedUp);
  });
});
