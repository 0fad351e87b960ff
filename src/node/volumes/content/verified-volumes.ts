/**
 * Which content volumes were found to hold what they should, so that an unchanged sync need not read all files again.
 *
 * In: what a volume is to hold, and how its folders look from outside. Out: whether the last whole look still stands. It
 * assumes that nobody but the agent writes to volumes; what covers that: a name that was added, removed or replaced in
 * the volume shows in its folders at once, and everything is read again at the next of the syncs that come each minute, or
 * after ten minutes where that is thousands of files, so that a file that somebody has written into is put right then.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { type Clock } from '#base/time/clock.js';
import { type ContentPayload } from './content-payload.js';

/** Volumes of more files than that are large, and their looks stand longer. */
const LARGE = 100;
const LARGE_STANDS_MS = 10 * 60_000;
/** For the syncs that follow one another while a pod starts, and not for those of each minute. */
const STANDS_MS = 30_000;
const MOST_VOLUMES = 1_000;

/** A look at a volume that found all as it should be. */
interface Verified {
  /** Of what it is to hold. */
  readonly digest: string;
  /** How its folders looked. */
  readonly look: string;
  readonly atMs: number;
  readonly standsMs: number;
}

/** See the module. */
export class VerifiedVolumes {
  readonly #clock: Pick<Clock, 'now'>;
  /** By folder, in the order in which they were verified. */
  readonly #volumes = new Map<string, Verified>();

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock;
  }

  /** What stands for a payload. */
  digest(payload: ContentPayload): string {
    const hash = createHash('sha256');
    for (const [path, { data, mode, uid = '' }] of payload) {
      hash.update(`${JSON.stringify(path)} ${mode} ${uid} ${data.byteLength}\n`).update(data);
    }
    return hash.digest('hex');
  }

  /** Whether the volume was found to hold that, and looks as it did then. */
  stands(folder: string, digest: string, look: string): boolean {
    const found = this.#volumes.get(folder);
    if (found?.digest !== digest || found.look !== look) return false;
    const agoMs = this.#clock.now() - found.atMs;
    // The clock on the wall may go back.
    return agoMs >= 0 && agoMs < found.standsMs;
  }

  /** Notes that the volume holds that, in so many files. */
  keep(folder: string, { digest, look, files }: { digest: string; look: string; files: number }): void {
    this.#volumes.delete(folder);
    const standsMs = files > LARGE ? LARGE_STANDS_MS : STANDS_MS;
    this.#volumes.set(folder, { digest, look, atMs: this.#clock.now(), standsMs });
    if (this.#volumes.size <= MOST_VOLUMES) return;
    const [oldest = ''] = this.#volumes.keys();
    this.#volumes.delete(oldest);
  }
}
