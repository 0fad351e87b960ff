import { ApiError } from '../http/api-error.js';
import { type FileLooks } from '../node/serve-log-files.js';
import { type Clock } from '#base/time/clock.js';
import { type MountEntry, readOwnMounts } from '#base/proc/mountinfo.js';
import { BoundedLooks, UnansweredError } from '../../volumes/bounded-looks.js';
import { findLookPlace } from '../../volumes/find-look-place.js';

/** What {@link logFileLooks} needs. */
export interface LogFileLooksOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonicMs'>;
  /** What is mounted where (default: the process's own mounts). */
  readonly readMounts?: () => Promise<readonly MountEntry[]>;
}

/** So long the table of mounts is good for: an index asks for each of its links. */
const MOUNTS_MS = 1_000;

/**
 * Looks at the node's log files: one at a time where they may hang, apart from those of volumes. So a dead mount among the
 * logs holds up no pod, and a thread is left for everybody else. What does not answer is a 503.
 */
export function logFileLooks({ clock, readMounts = readOwnMounts }: LogFileLooksOptions): FileLooks {
  let table: { readonly mounts: Promise<readonly MountEntry[]>; readonly atMs: number } | undefined;
  const looks = new BoundedLooks({
    ...{ clock, mostAtOnce: 1 },
    findPlace: async (path) => {
      const nowMs = clock.monotonicMs();
      if (table === undefined || nowMs - table.atMs >= MOUNTS_MS)
        table = { mounts: readMounts(), atMs: nowMs };
      return findLookPlace(path, await table.mounts);
    },
  });
  return {
    run: async (place, look, discard) => {
      try {
        return await looks.run(place, look, discard);
      } catch (error) {
        if (!(error instanceof UnansweredError)) throw error;
        throw new ApiError('ServiceUnavailable', error.message, undefined, { cause: error });
      }
    },
  };
}
