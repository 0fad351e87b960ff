import { type Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type WriteStream } from 'node:tty';
import { describeWaiting } from './shared/log/log-target.js';
import { showInvisible } from '#base/text/show-invisible.js';

/**
 * Writes lines to standard output or standard error, and notices when the reader is gone.
 *
 * When the reader closes the pipe (`| head`), {@link ended} aborts and later lines are dropped without an error. Any
 * other failure aborts it too and is stored in {@link failure}.
 */
export class LineOutput {
  readonly #stream: Writable;
  readonly #ended = new AbortController();
  #failure: Error | undefined;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') this.#failure ??= error;
      this.#ended.abort();
    });
  }

  /** Whether a person reads it, on a terminal. */
  get isTerminal(): boolean {
    return (this.#stream as Partial<WriteStream>).isTTY === true;
  }

  /** Aborts once nobody reads any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Why it ended, when it was not the reader who went away. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** What was written and has not been taken yet. */
  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  /** Why output does not arrive; undefined while no error is known. */
  findProblem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure.message;
    if (this.#ended.signal.aborted) return 'nobody reads it any more';
    return describeWaiting(this.#stream.writableLength);
  }

  /** Rejects with the error of an earlier write, if one is known by now. */
  async assertWritten(): Promise<void> {
    // A stream reports a failed write in a later turn of the event loop.
    await nextTurn();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Writes one line; resolves when there is room for the next, so that a reader who is slow holds up the one who
   * writes and not the memory. On a terminal, characters that would reorder or hide text are shown as escapes. The line is written also when `signal` aborts; then it is just not waited for. Never
   * rejects.
   */
  async writeLine(line: string, signal?: AbortSignal): Promise<void> {
    // What a program reads stays as it is.
    await this.write(`${this.isTerminal ? showInvisible(line) : line}\n`, signal);
  }

  /** Writes bytes or text as they are; otherwise as {@link writeLine}. */
  async write(chunk: string | Uint8Array, signal?: AbortSignal): Promise<void> {
    if (this.#ended.signal.aborted || this.#stream.write(chunk) || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#stream.off('drain', done);
        this.#ended.signal.removeEventListener('abort', done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#stream.on('drain', done);
      this.#ended.signal.addEventListener('abort', done);
      signal?.addEventListener('abort', done);
    });
  }
}
