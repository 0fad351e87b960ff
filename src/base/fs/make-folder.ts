import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCodeOf } from '../errors/system-code.js';

/** How often a folder that somebody else removes meanwhile is made anew. */
const MOST_ATTEMPTS = 3;

/**
 * Makes a folder and those above it that are missing; one that is there stays as it is. Rejects with the error of the
 * system.
 *
 * For paths that somebody else chose: `mkdir` of Node with `recursive` tries for ever, on one of its few threads, where
 * the system says ENOENT although the folder above is there, as in /proc.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await mkdir(path, { mode });
      return;
    } catch (error) {
      const isMissing = systemCodeOf(error) === 'ENOENT';
      // Also where the system says ENOENT for what is there.
      if ((!isMissing || attempt > 1) && (await isFolder(path))) return;
      if (!isMissing || dirname(path) === path || attempt === MOST_ATTEMPTS) throw error;
    }
    await makeFolder(dirname(path), mode);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}
