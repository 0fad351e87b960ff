import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCodeOf } from '../errors/system-code.js';

/** What {@link writeWhole} may be told. */
export interface WriteWholeOptions {
  /** Survives the loss of power, not only of this process. True unless told. */
  readonly durable?: boolean;
  /** Whether its name does, too. True unless told: who writes many into one folder calls {@link syncPath} once for all. */
  readonly syncsFolder?: boolean;
}

/**
 * Replaces a file so that a reader finds the old content or the new, never a part: temporary file, fsync, rename,
 * fsync of the folder.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  options: WriteWholeOptions = {},
): Promise<void> {
  const { durable = true, syncsFolder = durable } = options;
  const temporary = `${path}.tmp`;
  try {
    await using file = await open(temporary, 'w', 0o600);
    await file.writeFile(content);
    if (durable) await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rename(temporary, path);
  if (syncsFolder) await syncPath(dirname(path));
}

/**
 * As {@link writeWhole}, unless the content is there already. For what is the same at every start: a start must need no
 * room on the disk, else a full one could not be made room on by removing pods.
 */
export async function writeIfOther(path: string, content: string): Promise<void> {
  if ((await readIfThere(path)) !== content) await writeWhole(path, content);
}

/** Brings what was written to a file, or the names in a folder, to the disk. */
export async function syncPath(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** The text of a file, or undefined when it does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
