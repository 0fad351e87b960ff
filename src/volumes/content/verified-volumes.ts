/**
 * Which large content volumes were found to hold what they should, so that an unchanged sync need not read thousands of
 * files again.
 *
 * In: what a volume is to hold, and how its folders look from outside. Out: whether the last whole look still stands. It
 * assumes that nobody but the agent writes to volumes; what covers that: a name that was added, removed or replaced in
 * the volume shows in its folders at once, and after ten minutes everything is read again, so that a file that
 * somebody has written into is put right then.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { type Clock } from '../../util/clock.js';
import { type ContentPayload } from './content-payload.js';

/** Volumes with fewer files are looked at whole each time: it costs milliseconds. */
const LARGE = 100;
const STANDS_MS = 10 * 60_000;
const MOST_VOLUMES = 1_000;

/** A look at a volume that found all as it should be. */
interface Verified {
  /** Of what it is to hold. */
  readonly digest: string;
  /** How its folders looked. */
  readonly look: string;
  readonly atMs: number;
}

/** See the module. */
export class VerifiedVolumes {
  readonly #clock: Pick<Clock, 'now'>;
  /** By folder, in the order in which they were verified. */
  readonly #volumes = new Map<string, Verified>();

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock;
  }

  /** What stands for a payload; undefined for one that is so small that it is looked at each time. */
  digest(payload: ContentPayload): string | undefined {
    if (payload.size < LARGE) return undefined;
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
    return agoMs >= 0 && agoMs < STANDS_MS;
  }

  /** Notes that the volume holds that. */
  keep(folder: string, digest: string, look: string): void {
    this.#volumes.delete(folder);
    this.#volumes.set(folder, { digest, look, atMs: this.#clock.now() });
    if (this.#volumes.size <= MOST_VOLUMES) return;
    const [oldest = ''] = this.#volumes.keys();
    this.#volumes.delete(oldest);
  }
}
