import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from './make-folder.js';
import { pathOfHandle } from './path-of-handle.js';
import { systemCodeOf } from '../errors/system-code.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** An open folder, which stays the same whatever takes its place. */
export interface LinkFreeFolder extends AsyncDisposable {
  /** A path to the folder that is valid while it is open. */
  readonly path: string;
}

/**
 * Opens a folder whose last two names are not links.
 *
 * It is for folders inside folders that hostile processes may write to, such as those of container logs.
 * Rejects with the system's error: ENOENT if it does not exist, ENOTDIR for a link.
 */
export async function openLinkFree(folder: string): Promise<LinkFreeFolder> {
  return toFolder(await goDown(await openAbove(folder), namesOf(folder)));
}

/** Like {@link openLinkFree}, but creates missing folders, the last two each in its opened parent. */
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

/** Does nothing if the name already exists, even as a link. */
async function makeIn(folder: FileHandle, name: string): Promise<void> {
  await mkdir(join(pathOfHandle(folder), name)).catch((error: unknown) => {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  });
}

/**
 * Opens the folder that names lead to from an open one, each name by itself and none through a link.
 *
 * Closes the folder it starts from, also if it rejects; {@link isNoFolder} recognizes a missing folder.
 * `before` is called before each step.
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

/** Whether opening failed because the folder is missing, or a link or a file is in its place. */
export function isNoFolder(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCodeOf(error));
}
