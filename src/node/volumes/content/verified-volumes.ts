/**
 * Remembers which content volumes were verified, so that a sync without changes need not read all files
 * again.
 *
 * In: a volume's desired contents, and the outer state of its folders. Out: whether the last full check is
 * still valid. It assumes that only the agent writes to volumes. In case it does not: a name that was added,
 * removed or replaced shows in the folders, and everything is read again. The contents are read again at the
 * next sync of each minute, or after ten minutes for thousands of files, so that a file that somebody has
 * changed is corrected then.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { type Clock } from '#base/time/clock.js';
import { type ContentPayload } from './content-payload.js';

/** Volumes with more files than this are large, and their checks stay valid longer. */
const LARGE = 100;
const LARGE_STANDS_MS = 10 * 60_000;
/** Covers the quick syncs while a pod starts, but not those of each minute. */
const STANDS_MS = 30_000;
const MAX_VOLUMES = 1_000;

/** A check that found everything correct. */
interface Verified {
  /** Of the desired contents. */
  readonly digest: string;
  /** The state of its folders. */
  readonly look: string;
  readonly atMs: number;
  readonly standsMs: number;
}

/** See the module. */
export class VerifiedVolumes {
  readonly #clock: Pick<Clock, 'now'>;
  /** By folder, in the order of their checks. */
  readonly #volumes = new Map<string, Verified>();

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock;
  }

  /** Identifies a payload. */
  digest(payload: ContentPayload): string {
    const hash = createHash('sha256');
    for (const [path, { data, mode, uid = '' }] of payload) {
      hash.update(`${JSON.stringify(path)} ${mode} ${uid} ${data.byteLength}\n`).update(data);
    }
    return hash.digest('hex');
  }

  /** Whether the volume was verified with these contents, and its folders are unchanged. */
  stands(folder: string, digest: string, look: string): boolean {
    const found = this.#volumes.get(folder);
    if (found?.digest !== digest || found.look !== look) return false;
    const agoMs = this.#clock.now() - found.atMs;
    // The wall clock may go back.
    return agoMs >= 0 && agoMs < found.standsMs;
  }

  /** Records that the volume has these contents, in this many files. */
  keep(folder: string, { digest, look, files }: { digest: string; look: string; files: number }): void {
    this.#volumes.delete(folder);
    const standsMs = files > LARGE ? LARGE_STANDS_MS : STANDS_MS;
    this.#volumes.set(folder, { digest, look, atMs: this.#clock.now(), standsMs });
    if (this.#volumes.size <= MAX_VOLUMES) return;
    const [oldest = ''] = this.#volumes.keys();
    this.#volumes.delete(oldest);
  }
}
