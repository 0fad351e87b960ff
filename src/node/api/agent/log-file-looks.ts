import { ApiError } from '../http/api-error.js';
import { type FileLooks } from '../node/serve-log-files.js';
import { type Clock } from '#base/time/clock.js';
import { type MountEntry, readOwnMounts } from '#base/proc/mountinfo.js';
import { BoundedLooks, UnansweredError } from '../../volumes/bounded-looks.js';
import { findLookPlace } from '../../volumes/find-look-place.js';

/** What {@link logFileLooks} needs. */
export interface LogFileLooksOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonicMs'>;
  /** Reads the mounts (default: the process's own). */
  readonly readMounts?: () => Promise<readonly MountEntry[]>;
}

/** How long the table of mounts stays valid: an index needs it for each of its links. */
const MOUNTS_MS = 1_000;

/**
 * Accesses the node's log files: one at a time where they may hang, separately from volumes.
 *
 * So a dead mount among the logs blocks no pod, and leaves a thread for everything else. An access without an
 * answer gives 503.
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
