import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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
  let handle: FileHandle = above;
  try {
    for (const name of names.filter((each) => each !== '')) {
      const next = await open(join(pathOf(handle), name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await handle.close();
      handle = next;
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  return { path: pathOf(handle), [Symbol.asyncDispose]: () => handle.close() };
}

function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
