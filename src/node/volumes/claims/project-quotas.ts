/**
 * Sizes of folders that the kernel enforces, by the project quotas of ext4 and XFS.
 *
 * In: a folder, an id that is its alone, and how large it may become. Out: that the kernel enforces it, or why not, in
 * words. A write beyond the size fails with ENOSPC or EDQUOT, and `df` inside shows the size. The tools are those of the
 * system: chattr (e2fsprogs) and setquota (quota) for ext4, xfs_quota (xfsprogs) for XFS.
 *
 * Source: setquota(8), chattr(1), xfs_quota(8); KEP-1029 is a kubelet's use of them, to measure.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { findMountOf, type MountOrigin, parseMountOrigins, readOwnMountinfo } from '#base/proc/mountinfo.js';
import { MOUNT_ENVIRONMENT } from '../mount-tool.js';

/** What {@link ProjectQuotas} works with. */
export interface ProjectQuotasOptions {
  /** The mounts that this process sees (default: the kernel's table). */
  readonly readMounts?: () => Promise<readonly MountOrigin[]>;
  /** Runs a tool to its end, and resolves with what it printed. */
  readonly run?: (tool: string, args: readonly string[]) => Promise<string>;
}

/** How large a folder may become. */
export interface FolderLimit {
  /** Of whom the folder is: what has the same id shares the size. */
  readonly uid: string;
  readonly bytes: bigint;
}

/** A tool that has not ended by then waits for a disk that hangs. */
const LIMIT_MS = 30_000;
/** Those of projects begin here: a kubelet's begin at 2^20, and those that people write down are small. */
const FIRST_ID = 0x4000_0000;
/** The packages of the tools, as Debian names them. */
const PACKAGES: Readonly<Record<string, string>> = {
  ...{ setquota: 'quota', chattr: 'e2fsprogs', lsattr: 'e2fsprogs' },
  ...{ xfs_io: 'xfsprogs', xfs_quota: 'xfsprogs' },
};

/** See the module. */
export class ProjectQuotas {
  readonly #readMounts: () => Promise<readonly MountOrigin[]>;
  readonly #run: (tool: string, args: readonly string[]) => Promise<string>;

  constructor({ readMounts = readOrigins, run = runTool }: ProjectQuotasOptions = {}) {
    this.#readMounts = readMounts;
    this.#run = run;
  }

  /**
   * Sets the size of a folder, which replaces an earlier one. Resolves with why the kernel does not enforce it; undefined
   * where it does. A folder that has files in it already and was never limited stays as it is. Never rejects.
   */
  async limit(folder: string, limit: FolderLimit): Promise<string | undefined> {
    try {
      const path = await realpath(folder);
      const mount = findMountOf(await this.#readMounts(), path);
      const missing = mount === undefined ? 'its file system is not known' : whyNone(mount);
      if (missing !== undefined) return missing;
      return await this.#limit(path, mount!, limit);
    } catch (error) {
      return explain(error);
    }
  }

  /** Takes the size of a folder back, once the folder is gone. Never rejects. */
  async lift(above: string, uid: string): Promise<void> {
    try {
      const mount = findMountOf(await this.#readMounts(), await realpath(above));
      if (mount !== undefined && whyNone(mount) === undefined) await this.#setSize(mount, toProject(uid), 0n);
    } catch {
      // A size of a project that has no files is no harm.
    }
  }

  async #limit(path: string, mount: MountOrigin, { uid, bytes }: FolderLimit): Promise<string | undefined> {
    const project = toProject(uid);
    if (!(await this.#belongsTo(path, mount, project))) {
      if ((await readdir(path)).length > 0) return 'it was in use before its file system had project quotas';
      // The size first: what is in the project has one at any moment.
      await this.#setSize(mount, project, bytes);
      await this.#join(path, mount, project);
      return undefined;
    }
    await this.#setSize(mount, project, bytes);
    return undefined;
  }

  async #belongsTo(path: string, { fsType }: MountOrigin, project: number): Promise<boolean> {
    const printed = await (fsType === 'xfs'
      ? this.#run('xfs_io', ['-r', '-c', 'lsproj', path])
      : this.#run('lsattr', ['-pd', path]));
    // `projid = 7` of xfs_io, `7 --------------e----P-- PATH` of lsattr.
    return Number(/^(?:projid *=)? *(\d+)/.exec(printed)?.[1]) === project;
  }

  async #join(path: string, { fsType }: MountOrigin, project: number): Promise<void> {
    if (fsType === 'xfs')
      await this.#run('xfs_io', ['-r', '-c', `chproj ${project}`, '-c', 'chattr +P', path]);
    else await this.#run('chattr', ['-p', String(project), '+P', path]);
  }

  /** 0: none. */
  async #setSize({ fsType, mountPoint, source }: MountOrigin, project: number, bytes: bigint): Promise<void> {
    const kib = String((bytes + 1023n) / 1024n);
    if (fsType === 'xfs')
      await this.#run('xfs_quota', ['-x', '-c', `limit -p bhard=${kib}k ${project}`, mountPoint]);
    else await this.#run('setquota', ['-P', String(project), '0', kib, '0', '0', source]);
  }
}

/** Why a file system enforces no sizes; undefined where it can. */
function whyNone({ fsType, superOptions }: MountOrigin): string | undefined {
  if (fsType !== 'ext4' && fsType !== 'xfs') return `its file system (${fsType}) has no project quotas`;
  if (superOptions.includes('prjquota') || superOptions.includes('pquota')) return undefined;
  return `its file system (${fsType}) is not mounted with prjquota`;
}

/** The project of an owner: one of 2^30, so that those of other agents on the same file system are others. */
function toProject(uid: string): number {
  return FIRST_ID + (createHash('sha256').update(uid).digest().readUInt32BE(0) >>> 2);
}

function explain(error: unknown): string {
  const { path: tool = '', stderr = '' } = error as { readonly path?: string; readonly stderr?: string };
  const from = PACKAGES[tool];
  if (systemCodeOf(error) === 'ENOENT' && from !== undefined) return `${tool} is missing: install ${from}`;
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return last === '' ? messageOf(error) : last;
}

async function readOrigins(): Promise<readonly MountOrigin[]> {
  return parseMountOrigins(await readOwnMountinfo());
}

async function runTool(tool: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(tool, args, {
    env: MOUNT_ENVIRONMENT,
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  return stdout;
}
