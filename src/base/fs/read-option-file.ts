import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { messageOf, PodloopError } from '../errors/errors.js';

/** Larger than any certificate, key or token file. */
const LARGEST_FILE_BYTES = 1024 * 1024;

/**
 * The text of a file that an option names; the empty one where it names none. `isPrivate`: it must be its owner's alone.
 * Rejects with OPTION_INVALID naming flag, file and what would be right.
 */
export async function readOptionFile(flag: string, file: string, isPrivate = false): Promise<string> {
  if (file === '') return '';
  try {
    // A pipe would hang the reader.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await handle.stat();
    if (!facts.isFile()) throw unusableFile(flag, file, 'is no file');
    if (facts.size > LARGEST_FILE_BYTES) {
      throw unusableFile(flag, file, `has more than ${LARGEST_FILE_BYTES} bytes`);
    }
    // Whoever else can read it could be anybody.
    if (isPrivate && (facts.mode & 0o077) !== 0) {
      throw unusableFile(flag, file, `can be opened by others; chmod 600 ${file}`);
    }
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof PodloopError) throw error;
    throw unusableFile(flag, file, `cannot be read: ${messageOf(error)}`, error);
  }
}

/** A problem with a file that an option names. */
export function unusableFile(flag: string, file: string, why: string, cause?: unknown): PodloopError {
  return new PodloopError('OPTION_INVALID', `${flag}: ${file} ${why}`, { cause });
}
