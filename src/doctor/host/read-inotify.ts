import { watch } from 'node:fs';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type HostFiles } from '../facts/host-files.js';

/** How many files root may watch at once, and whether it has come to that. */
export interface InotifyFacts {
  /** fs.inotify.max_user_instances and max_user_watches; 0 where they cannot be read. */
  readonly instances: number;
  readonly watches: number;
  /** Which of the two are all in use; absent where neither is. */
  readonly usedUp?: 'instances' | 'watches';
}

/** What the kernel says of inotify(7): no instance is left (EMFILE), no watch is left (ENOSPC). */
const USED_UP: Readonly<Record<string, InotifyFacts['usedUp']>> = { EMFILE: 'instances', ENOSPC: 'watches' };

/**
 * Whether the user of this program can watch one more file: it tries that with the folder /proc/sys, and lets go at once.
 *
 * Rejects for other users than root, as the runtime and the kubelet are root's and each user has limits of its own.
 */
export async function readInotify(
  files: HostFiles,
  { tryWatch = watchOnce, isRoot = process.getuid?.() === 0 } = {},
): Promise<InotifyFacts> {
  if (!isRoot) throw new Error('EACCES: inotify is counted for each user');
  const limitOf = async (name: string): Promise<number> =>
    Number((await files.find(`/proc/sys/fs/inotify/max_user_${name}`)) ?? 0);
  const [instances, watches] = [await limitOf('instances'), await limitOf('watches')];
  try {
    tryWatch();
    return { instances, watches };
  } catch (error) {
    const usedUp = USED_UP[systemCodeOf(error)];
    if (usedUp === undefined) throw error;
    return { instances, watches, usedUp };
  }
}

function watchOnce(): void {
  watch('/proc/sys', { persistent: false }).close();
}
