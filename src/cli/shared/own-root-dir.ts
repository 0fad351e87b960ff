import { lstatSync, type Stats } from 'node:fs';
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { aboutFolder, PodloopError } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/** The one of somebody without a home: where everybody may make a folder of that name. */
export const SHARED_ROOT_DIR = '/tmp/podloop';

/** The default root folder of a user other than root: below the user's state folder. */
export function ownRootDir(env: Readonly<Record<string, string | undefined>>): string {
  const home = env['HOME'] ?? '';
  // What is not absolute counts as not set, by the specification of these variables.
  const state = [env['XDG_STATE_HOME'] ?? '', join(home, '.local/state')].find((each) => isAbsolute(each));
  return state === undefined ? SHARED_ROOT_DIR : join(state, 'podloop');
}

/**
 * Makes a folder that only this user may use where everybody may make one, or takes the one that is there: one of his
 * own, which is closed to others. Rejects with FOLDER_UNUSABLE where it is somebody else's, who could change whatever
 * is kept in it.
 */
export async function claimSharedFolder(path: string, uid = process.geteuid!()): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
    });
    const facts = await lstat(path);
    if (!isFolderOf(uid, facts)) {
      const what = facts.isDirectory() ? `belongs to the user ${facts.uid}` : 'is no folder';
      const message = `--root-dir ${path} ${what}, and anybody could have made it: set HOME, or name another folder`;
      throw new PodloopError('FOLDER_UNUSABLE', message);
    }
    if ((facts.mode & 0o777) !== 0o700) await chmod(path, 0o700);
  } catch (error) {
    throw aboutFolder(error, '--root-dir', path);
  }
}

/** Whether that folder is of that user, or not there at all. */
export function mayBeOf(uid: number, path: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts === undefined || isFolderOf(uid, facts);
}

function isFolderOf(uid: number, facts: Stats): boolean {
  return facts.isDirectory() && facts.uid === uid;
}
