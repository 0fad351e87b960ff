import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemCodeOf } from '../errors/system-code.js';

/** A volume of many millions of files takes this long on a slow disk. */
const LIMIT_MS = 30 * 60_000;

/**
 * Removes a folder with its content; a missing folder is not an error.
 *
 * No link is followed. The caller must have checked that nothing is mounted below it.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if (systemCodeOf(error) !== 'ENAMETOOLONG') throw error;
    // Nested folders may be too deep for a path: rm(1) descends one by one.
    await promisify(execFile)('rm', ['-rf', '--one-file-system', '--', folder], {
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    });
  }
}
