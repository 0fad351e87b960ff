import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemCodeOf } from '../errors/system-code.js';

/** A volume of many millions of files takes that long on a slow disk. */
const LIMIT_MS = 30 * 60_000;

/**
 * Removes a folder with all that is in it; one that is not there is no error. No link is followed. Nothing may be mounted
 * below it: whoever calls it has looked.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if (systemCodeOf(error) !== 'ENAMETOOLONG') throw error;
    // Folders in folders, deeper than a path can name: rm(1) goes down one by one.
    await promisify(execFile)('rm', ['-rf', '--one-file-system', '--', folder], {
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    });
  }
}
