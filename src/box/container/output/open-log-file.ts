import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { closeOnFailure } from '#base/async/close-on-failure.js';
import { makeLinkFree } from '#base/fs/link-free-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** Where the output goes that nobody wants. */
const NOWHERE = '/dev/null';

/**
 * Opens the log of a container to write behind what is in it, and makes it where it is missing, with its folder.
 *
 * Containers may write to the folder of their logs: no link is followed to the file, and a pipe or device that was put in
 * its place is refused at once, as to open one may take for ever.
 */
export async function openLogFile(path: string): Promise<FileHandle> {
  if (path === NOWHERE) return await open(path, O_WRONLY);
  await using folder = await makeLinkFree(dirname(path));
  const flags = O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(join(folder.path, basename(path)), flags, 0o640).catch((error: unknown) => {
    throw systemCodeOf(error) === 'ENXIO' ? noFile(path) : error;
  });
  return await closeOnFailure(file, async () => {
    if ((await file.stat()).isFile()) return file;
    throw noFile(path);
  });
}

function noFile(path: string): Error {
  return new Error(`${path} is not a file`);
}
