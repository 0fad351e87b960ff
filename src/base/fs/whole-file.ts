import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCodeOf } from '../errors/system-code.js';

/** Options of {@link writeWhole}. */
export interface WriteWholeOptions {
  /** Whether the content survives a power failure, not just the end of the process (default: true). */
  readonly durable?: boolean;
  /**
   * Whether the name does, too (default: true). When writing many files into one folder, call
   * {@link syncPath} once instead.
   */
  readonly syncsFolder?: boolean;
  /** Whether the file keeps the mode and, as root, the owner that it has (default: false, only this user may read it). */
  readonly keepsOwner?: boolean;
}

/**
 * Replaces a file atomically: a reader finds the old content or the new, never a part.
 *
 * It writes a temporary file, then does fsync, rename, and fsync of the folder. Rejects with the system's error, whose
 * message names a path: the system alone would not say which disk is full.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  options: WriteWholeOptions = {},
): Promise<void> {
  const { durable = true, syncsFolder = durable, keepsOwner = false } = options;
  const temporary = `${path}.tmp`;
  const before = keepsOwner ? await stat(path).catch(() => undefined) : undefined;
  try {
    await using file = await open(temporary, 'w', 0o600);
    if (before !== undefined) {
      if (process.geteuid?.() === 0) await file.chown(before.uid, before.gid);
      await file.chmod(before.mode & 0o777);
    }
    await file.writeFile(content);
    if (durable) await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw withPath(error, path);
  }
  await rename(temporary, path);
  if (syncsFolder) await syncPath(dirname(path));
}

function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || systemCodeOf(error) === '' || 'path' in error) return error;
  error.message += ` '${path}'`;
  return Object.assign(error, { path });
}

/**
 * Like {@link writeWhole}, unless the file already has this content.
 *
 * It is for files that are the same at every start. A start must not need disk space, as otherwise a full disk
 * could not be freed by removing pods.
 */
export async function writeIfOther(path: string, content: string): Promise<void> {
  if ((await readIfThere(path)) !== content) await writeWhole(path, content);
}

/** Flushes a file, or the names in a folder, to the disk. */
export async function syncPath(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** The text of a file, or undefined if it does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
