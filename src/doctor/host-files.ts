import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '../util/clock.js';
import { abortable } from '../util/abortable.js';
import { linkAbort } from '../util/linked-abort.js';

/** A file that takes longer to be read is on a disk that hangs. */
const READ_LIMIT_MS = 5_000;

/**
 * The files of the machine that is looked at: this one's, or those of a root that is mounted somewhere, as in a
 * container. What hangs is given up, so that a dead disk does not hold up the examination.
 */
export class HostFiles {
  readonly root: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;

  constructor(options: { readonly root: string; readonly clock: Clock; readonly signal: AbortSignal }) {
    this.root = options.root;
    this.#clock = options.clock;
    this.#signal = options.signal;
  }

  /** Where that absolute path of the machine is here. */
  pathOf(path: string): string {
    return this.root === '/' ? path : join(this.root, path);
  }

  async read(path: string): Promise<string> {
    return await this.within(readFile(this.pathOf(path), 'utf8'));
  }

  /** The text, or undefined when it cannot be read. */
  async find(path: string): Promise<string | undefined> {
    try {
      return await this.read(path);
    } catch {
      this.#signal.throwIfAborted();
      return undefined;
    }
  }

  async list(path: string): Promise<string[]> {
    return await this.within(readdir(this.pathOf(path)));
  }

  /** Waits for an operation on files, and no longer than a disk that works needs. */
  async within<T>(operation: Promise<T>, limitMs = READ_LIMIT_MS): Promise<T> {
    const late = linkAbort(this.#signal);
    const timer = this.#clock.setTimer(limitMs, () =>
      late.abort(new Error(`no answer from the file system within ${limitMs} ms`)),
    );
    try {
      return await abortable(operation, late.signal);
    } finally {
      timer.cancel();
      late.unlink();
    }
  }
}
