import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMountOrigins } from '#base/proc/mountinfo.js';
import { ProjectQuotas } from './project-quotas.js';

const LIMIT = { uid: 'one', bytes: 5n * 2n ** 20n + 1n };
let folder: string;
let options: string;
let fsType: string;
/** The command lines that were run. */
let ran: string[];
/** What lsattr or xfs_io print of the folder. */
let printed: string;
let failure: Error | undefined;
let quotas: ProjectQuotas;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-project-quotas-')));
  [options, fsType, printed, failure, ran] = ['rw,prjquota', 'ext4', '    0 ------e--- x', undefined, []];
  quotas = new ProjectQuotas({
    readMounts: () =>
      Promise.resolve(
        parseMountOrigins(
          `1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 8:2 / ${folder} rw - ${fsType} /dev/sdb ${options}`,
        ),
      ),
    run: (tool, args) => {
      ran.push([tool, ...args].join(' ').replace(folder, 'FOLDER'));
      return failure === undefined ? Promise.resolve(printed) : Promise.reject(failure);
    },
  });
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

/** The project that was used. */
const project = (): string => /\b1[0-9]{9}\b/.exec(ran.join('\n'))?.[0] ?? 'none';

describe('the size of a folder', () => {
  it('is enforced on ext4: first there is a limit, in whole KiB, then something that it is for', async () => {
    expect(await quotas.limit(folder, LIMIT)).toBeUndefined();
    expect(ran).toEqual([
      'lsattr -pd FOLDER',
      `setquota -P ${project()} 0 5121 0 0 /dev/sdb`,
      `chattr -p ${project()} +P FOLDER`,
    ]);
  });

  it('is enforced on XFS', async () => {
    [fsType, printed] = ['xfs', 'projid = 0\n'];
    expect(await quotas.limit(folder, LIMIT)).toBeUndefined();
    expect(ran).toEqual([
      'xfs_io -r -c lsproj FOLDER',
      `xfs_quota -x -c limit -p bhard=5121k ${project()} FOLDER`,
      `xfs_io -r -c chproj ${project()} -c chattr +P FOLDER`,
    ]);
  });

  it.each([
    ['ext4', (id: string) => `${id} --------------e----P-- FOLDER\n`],
    ['xfs', (id: string) => `projid = ${id}\n`],
  ])('of one that has files and a size on %s is changed', async (type, print) => {
    fsType = type;
    await quotas.limit(folder, LIMIT);
    printed = print(project());
    await writeFile(join(folder, 'file'), 'x');
    ran = [];
    expect(await quotas.limit(folder, { ...LIMIT, bytes: 1024n })).toBeUndefined();
    expect(ran).toHaveLength(2);
    expect(ran[1]).toMatch(/ 0 1 0 0 |bhard=1k/);
  });

  it('is another project for another owner', async () => {
    await quotas.limit(folder, LIMIT);
    const first = project();
    ran = [];
    await quotas.limit(folder, { ...LIMIT, uid: 'other' });
    expect(project()).not.toBe(first);
  });

  it.each([
    ['rw', 'ext4', 'its file system (ext4) is not mounted with prjquota'],
    ['rw,noquota', 'xfs', 'its file system (xfs) is not mounted with prjquota'],
    ['rw,prjquota', 'btrfs', 'its file system (btrfs) has no project quotas'],
  ])('is not enforced with %s on %s', async (given, type, why) => {
    [options, fsType] = [given, type];
    expect(await quotas.limit(folder, LIMIT)).toBe(why);
    await quotas.lift(folder, 'one');
    expect(ran).toEqual([]);
  });

  it('is not enforced of what has files that no project counts', async () => {
    await writeFile(join(folder, 'file'), 'x');
    expect(await quotas.limit(folder, LIMIT)).toContain('in use before');
    expect(ran).toEqual(['lsattr -pd FOLDER']);
  });

  it.each([
    [{ code: 'ENOENT', path: 'setquota', message: 'spawn' }, 'setquota is missing: install quota'],
    [{ code: 1, stderr: 'x\nsetquota: Operation not permitted\n' }, 'setquota: Operation not permitted'],
  ])('is not enforced where a tool fails: %j', async (error, why) => {
    failure = Object.assign(new Error('failed'), error);
    expect(await quotas.limit(folder, LIMIT)).toBe(why);
  });

  it('is not enforced of a folder that is gone, and no failure is thrown', async () => {
    expect(await quotas.limit(join(folder, 'none'), LIMIT)).toContain('ENOENT');
    await quotas.lift(join(folder, 'none'), 'one');
  });

  it('is taken back', async () => {
    await quotas.lift(folder, 'one');
    expect(ran).toEqual([`setquota -P ${project()} 0 0 0 0 /dev/sdb`]);
  });
});
