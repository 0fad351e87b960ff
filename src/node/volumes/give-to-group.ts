import { constants } from 'node:fs';
import { chmod, chown, type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { goDown, isNoFolder } from '#base/fs/link-free-folder.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';

/** Options of {@link giveToGroup}. */
export interface GiveToGroupOptions {
  /** `OnRootMismatch`: does nothing if the folder itself is as it should be. */
  readonly policy: 'OnRootMismatch' | 'Always';
  readonly signal: AbortSignal;
}

const SETGID = 0o2000;
/** The group's rights to files, and the additional ones to folders. */
const FILE_BITS = 0o660;
const FOLDER_BITS = 0o110 | SETGID;

/** open(2): a position in the tree without access to its contents. Node has no name for it. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** The longest path: nobody reaches anything deeper, and all names would fill the memory. */
const MAX_PATH_LENGTH = 4096;

/**
 * Gives a folder with everything in it to a group, which may then read and write it.
 *
 * Files that are created later belong to the group, too. It follows no links below the folder, not even one
 * that replaces a folder after its check, as another pod may have the same volume. Files that disappear are
 * skipped, and links have no rights. A handle stands for its folder, whatever has taken the place of that.
 *
 * @see
 *   https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods
 */
export async function giveToGroup(
  folder: string | FileHandle,
  group: number,
  { policy, signal }: GiveToGroupOptions,
): Promise<void> {
  const base = typeof folder === 'string' ? await realpath(folder) : pathOfHandle(folder);
  const root = await stat(base);
  const wanted = FILE_BITS | FOLDER_BITS;
  if (policy === 'OnRootMismatch' && root.gid === group && (root.mode & wanted) === wanted) return;
  // The root last: until it is correct, nobody takes the rest for done.
  const folders = [''];
  for (let at = 0; at < folders.length; at++) {
    signal.throwIfAborted();
    const current = folders[at]!;
    await using opened = await openFolder(base, current);
    if (opened === undefined) continue;
    for (const entry of await readdir(pathOfHandle(opened), { withFileTypes: true })) {
      const path = join(current, entry.name);
      if (path.length > MAX_PATH_LENGTH)
        throw new Error(`${await realpath(base)} has folders deeper than a path can name`);
      if (entry.isDirectory()) folders.push(path);
      else await giveFile(join(pathOfHandle(opened), entry.name), group);
    }
  }
  for (const each of folders.reverse()) {
    await using opened = await openFolder(base, each);
    if (opened !== undefined) await give(opened, group);
  }
}

/** Opens name by name; undefined for what is gone, or has become something else. */
async function openFolder(base: string, path: string): Promise<FileHandle | undefined> {
  const root = await open(base, O_RDONLY | O_DIRECTORY);
  const names = path.split('/').filter((each) => each !== '');
  return await goDown(root, names).catch(ignoreAbsence);
}

async function giveFile(path: string, group: number): Promise<void> {
  await using file = await open(path, O_PATH | O_NOFOLLOW).catch(ignoreAbsence);
  if (file !== undefined) await give(file, group);
}

/** Changes the opened file, wherever its name leads by now. */
async function give(opened: FileHandle, group: number): Promise<void> {
  const facts = await opened.stat();
  if (facts.isSymbolicLink()) return;
  await chown(pathOfHandle(opened), facts.uid, group);
  const bits = facts.isDirectory() ? FILE_BITS | FOLDER_BITS : FILE_BITS;
  // After the change of the group, which removes bits.
  await chmod(pathOfHandle(opened), (facts.mode & 0o7777) | bits);
}

function ignoreAbsence(error: unknown): undefined {
  if (!isNoFolder(error)) throw error;
}
