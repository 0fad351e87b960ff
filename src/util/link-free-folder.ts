import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathOfHandle } from './path-of-handle.js';
import { systemCodeOf } from './system-code.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A folder that was opened: what it is stays the same, whatever takes its place. */
export interface LinkFreeFolder extends AsyncDisposable {
  /** By which its files are reached, as long as it is open. */
  readonly path: string;
}

/**
 * Opens a folder whose last two names are no links: for folders in folders that somebody hostile may write to, as those
 * of the logs of containers. Rejects with the system's error: ENOENT for what is not there, ENOTDIR for a link.
 */
export async function openLinkFree(folder: string): Promise<LinkFreeFolder> {
  const above = await open(dirname(dirname(folder)), O_RDONLY | O_DIRECTORY);
  const names = folder.slice(dirname(dirname(folder)).length).split('/');
  const handle = await goDown(
    above,
    names.filter((each) => each !== ''),
  );
  return { path: pathOfHandle(handle), [Symbol.asyncDispose]: () => handle.close() };
}

/**
 * Opens the folder that names lead to from an open one, each by itself and none through a link. Closes the one it comes from,
 * also when it rejects; see {@link isNoFolder} for what is not there.
 */
export async function goDown(from: FileHandle, names: readonly string[]): Promise<FileHandle> {
  let folder = from;
  try {
    for (const name of names) {
      const next = await open(join(pathOfHandle(folder), name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await folder.close();
      folder = next;
    }
    return folder;
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** Whether something was opened in vain because it is not there, or a link or a file is in the way. */
export function isNoFolder(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCodeOf(error));
}
