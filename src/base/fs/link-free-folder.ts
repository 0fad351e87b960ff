import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from './make-folder.js';
import { pathOfHandle } from './path-of-handle.js';
import { systemCodeOf } from '../errors/system-code.js';

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
  return toFolder(await goDown(await openAbove(folder), namesOf(folder)));
}

/** As {@link openLinkFree}; what is missing is made, the last two folders each in the one above that is held open. */
export async function makeLinkFree(folder: string): Promise<LinkFreeFolder> {
  await makeFolder(dirname(dirname(folder)));
  return toFolder(await goDown(await openAbove(folder), namesOf(folder), makeIn));
}

function openAbove(folder: string): Promise<FileHandle> {
  return open(dirname(dirname(folder)), O_RDONLY | O_DIRECTORY);
}

function namesOf(folder: string): readonly string[] {
  const names = folder.slice(dirname(dirname(folder)).length).split('/');
  return names.filter((each) => each !== '');
}

function toFolder(handle: FileHandle): LinkFreeFolder {
  return { path: pathOfHandle(handle), [Symbol.asyncDispose]: () => handle.close() };
}

/** Nothing happens where something is there already, a link included. */
async function makeIn(folder: FileHandle, name: string): Promise<void> {
  await mkdir(join(pathOfHandle(folder), name)).catch((error: unknown) => {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  });
}

/**
 * Opens the folder that names lead to from an open one, each by itself and none through a link. Closes the one it comes from,
 * also when it rejects; see {@link isNoFolder} for what is not there. `before` is called before each step.
 */
export async function goDown(
  from: FileHandle,
  names: readonly string[],
  before: (folder: FileHandle, name: string) => Promise<void> = () => Promise.resolve(),
): Promise<FileHandle> {
  let folder = from;
  try {
    for (const name of names) {
      await before(folder, name);
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
