import { open, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { SPOOL_FILE_BYTES } from '../supervisor-script.js';

/** Stands in the name of every file of a spool, between the stream and the position. */
export const SPOOL_MARK = '.spool.';

/** What a {@link SpoolReader} needs. */
export interface SpoolReaderOptions {
  /** The container's folder. */
  readonly dir: string;
  readonly stream: 'stdout' | 'stderr';
}

/**
 * One output of a container as its supervisor has put it down: in files named after where in the output they begin.
 *
 * ```
 * stdout.spool.0          8 to 16 MiB, complete since there is a next one
 * stdout.spool.8391212    the last one, growing
 * ```
 *
 * Positions are bytes from the beginning of the output, whatever was removed meanwhile. The supervisor makes the
 * container wait while too many complete files are there: see SPOOL_FILES.
 */
export class SpoolReader {
  readonly #dir: string;
  readonly #name: string;
  #current: { readonly begin: number; readonly file: FileHandle } | undefined;
  #isClosed = false;

  constructor({ dir, stream }: SpoolReaderOptions) {
    this.#dir = dir;
    this.#name = `${stream}${SPOOL_MARK}`;
  }

  /**
   * Fills the buffer with what begins at a position; how many bytes there were. 0 where nothing is, or not any more,
   * and once it is closed.
   */
  async read(buffer: Buffer, position: number): Promise<number> {
    let total = 0;
    for (;;) {
      const at = position + total;
      const current = await this.#open(at);
      if (current === undefined) return total;
      const { begin, file } = current;
      const { bytesRead } = await file.read(buffer, total, buffer.length - total, at - begin);
      total += bytesRead;
      if (total === buffer.length) return total;
      const end = at + bytesRead;
      // The next file begins where the one before it ended: if it is there, the one before it will not grow.
      if (end - begin < SPOOL_FILE_BYTES || !(await this.#goOn(end))) return total;
    }
  }

  /** The end of what there is. */
  async findEnd(): Promise<number> {
    const last = (await this.#listBegins()).at(-1);
    if (last === undefined) return 0;
    const { size } = await stat(this.#pathOf(last)).catch(() => ({ size: 0 }));
    return last + size;
  }

  /** The position itself or, when that was removed, the first that is still there. */
  async findNext(position: number): Promise<number> {
    const begins = await this.#listBegins();
    const [first] = begins;
    return first === undefined || first <= position ? position : first;
  }

  /**
   * Removes the files that end at or before a position, and so lets a container go on that waits.
   *
   * @returns where the first one begins that stays.
   */
  async release(position: number): Promise<number> {
    const begins = await this.#listBegins();
    for (const [at, begin] of begins.entries()) {
      const end = begins[at + 1];
      if (end === undefined || end > position) return begin;
      await rm(this.#pathOf(begin), { force: true });
    }
    return position;
  }

  /** Idempotent. A read that is under way may reject, and leaves nothing open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.file.close();
  }

  /** The file that holds a position, or is about to. */
  async #open(position: number): Promise<{ readonly begin: number; readonly file: FileHandle } | undefined> {
    if (this.#current !== undefined && this.#current.begin <= position) return this.#current;
    const begins = await this.#listBegins();
    const begin = begins.findLast((each) => each <= position);
    if (begin === undefined || !(await this.#goOn(begin))) return undefined;
    return this.#current;
  }

  /** Takes up the file that begins at a position; false when there is none. */
  async #goOn(begin: number): Promise<boolean> {
    try {
      const file = await open(this.#pathOf(begin), 'r');
      const last = this.#current;
      this.#current = { begin, file };
      await last?.file.close();
      if (!this.#isClosed) return true;
      // Closed while the file was opened: nobody else would come for it.
      await this.#leave();
      return false;
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /** Where the files begin, in order. */
  async #listBegins(): Promise<readonly number[]> {
    // Without a folder the container is being removed.
    const names = await namesIn(this.#dir);
    return names
      .filter((name) => name.startsWith(this.#name))
      .map((name) => Number(name.slice(this.#name.length)))
      .sort((a, b) => a - b);
  }

  #pathOf(begin: number): string {
    return join(this.#dir, `${this.#name}${begin}`);
  }
}
