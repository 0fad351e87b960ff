import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCodeOf } from '../util/system-code.js';

/** How {@link giveToGroup} goes about it. */
export interface GiveToGroupOptions {
  /** `OnRootMismatch`: nothing is done when the folder itself is as it should be. */
  readonly policy: 'OnRootMismatch' | 'Always';
  readonly signal: AbortSignal;
}

const SETGID = 0o2000;
/** What the group may do with files, and with folders besides. */
const FILE_BITS = 0o660;
const FOLDER_BITS = 0o110 | SETGID;

/**
 * Gives a folder with all that is in it to a group, which may read and write it then; what is made in it later is the
 * group's, too. Follows no links; what goes meanwhile is passed over.
 *
 * @see https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods
 */
export async function giveToGroup(
  folder: string,
  group: number,
  { policy, signal }: GiveToGroupOptions,
): Promise<void> {
  const root = await lstat(folder);
  const wanted = FILE_BITS | FOLDER_BITS;
  if (policy === 'OnRootMismatch' && root.gid === group && (root.mode & wanted) === wanted) return;
  // The root last: while it is not as it should be, nobody takes the rest for done.
  const folders = [folder];
  for (let at = 0; at < folders.length; at++) {
    signal.throwIfAborted();
    const current = folders[at]!;
    for (const entry of await readdir(current, { withFileTypes: true })) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else await giveOne(path, group);
    }
  }
  for (const each of folders.reverse()) await giveOne(each, group);
}

async function giveOne(path: string, group: number): Promise<void> {
  try {
    const facts = await lstat(path);
    await lchown(path, facts.uid, group);
    if (facts.isSymbolicLink()) return;
    const bits = facts.isDirectory() ? FILE_BITS | FOLDER_BITS : FILE_BITS;
    // After the change of the group, which takes bits away.
    await chmod(path, (facts.mode & 0o7777) | bits);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}
