import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCodeOf } from '../errors/system-code.js';

/** How often to create a folder again that another process removes meanwhile. */
const MAX_ATTEMPTS = 3;

/**
 * Creates a folder and its missing parents; an existing one is not changed. Rejects with the system's error.
 *
 * Node's `mkdir` with `recursive` retries for ever, on one of its few threads, if the system reports ENOENT although
 * the parent exists, as in /proc. On a disk that is read-only or has no room it reports ENOENT instead of that.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await mkdir(path, { mode });
      return;
    } catch (error) {
      const isMissing = systemCodeOf(error) === 'ENOENT';
      // Even if the system reports ENOENT for a folder that exists.
      if ((!isMissing || attempt > 1) && (await isFolder(path))) return;
      if (!isMissing || dirname(path) === path || attempt === MAX_ATTEMPTS) throw error;
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
