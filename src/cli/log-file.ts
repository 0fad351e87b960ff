import { closeSync, constants, fstatSync, openSync, write as writeToFile, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Clock } from '#base/time/clock.js';
import { describeWaiting, type LogTarget } from './shared/log/log-target.js';

/** Writes part of a buffer and says how much of it; fs.write. */
export type WriteBytes = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  position: null,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/** The options of a {@link LogFile}. */
export interface LogFileOptions {
  readonly fd: number;
  readonly clock: Clock;
  /** The write function (default: fs.write). */
  readonly write?: WriteBytes;
}

/** Maximum number of bytes per write. */
const CHUNK_BYTES = 64 * 1024;
/** Retry interval for a stopped terminal. */
const STOPPED_RETRY_MS = 50;
/** Retry interval for a file that cannot be written, for example on a full disk. */
const FAILED_RETRY_MS = 1_000;
/** A longer write is reported; a disk that is only busy takes less time. */
const HANGS_AFTER_MS = 10_000;
/** Maximum time that the exit waits for the last lines. */
const SETTLE_MS = 1_000;

/**
 * A file or a terminal as the target of a log, which never blocks the writer.
 *
 * Node writes to both synchronously, so a hanging disk or a terminal that Ctrl-S stopped would block the process.
 * Bytes that cannot be written are buffered and retried without end, from where the last attempt stopped: the log
 * continues once the disk has room. The writer limits how much may be buffered.
 */
export class LogFile implements LogTarget {
  readonly #options: Required<LogFileOptions>;
  /** Not given to the file yet. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** What is being written, from where on. */
  #chunk: Buffer = Buffer.alloc(0);
  #problem: string | undefined;
  #begunMs: number | undefined;
  #isBusy = false;
  #onIdle: (() => void)[] = [];

  constructor(options: LogFileOptions) {
    this.#options = { write: writeToFile, ...options };
  }

  get waitingBytes(): number {
    return this.#waitingBytes + this.#chunk.length;
  }

  findProblem(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    const hangsMs = this.#begunMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#begunMs;
    if (hangsMs >= HANGS_AFTER_MS) return `a write has taken ${Math.round(hangsMs / 1_000)}s so far`;
    return describeWaiting(this.waitingBytes);
  }

  writeLine(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.#isBusy) this.#writeMore();
  }

  async settle(): Promise<void> {
    if (!this.#isBusy) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.setTimer(SETTLE_MS, resolve);
      this.#onIdle.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /**
   * Writes on the spot what waits, for a process that is just ending. What is being written ends by itself; a file that
   * fails or hangs is left alone.
   */
  flush(): void {
    const { fd, clock } = this.#options;
    const isSlow = this.#begunMs !== undefined && clock.monotonicMs() - this.#begunMs > SETTLE_MS;
    if (isSlow || this.#problem !== undefined) return;
    try {
      for (const bytes of this.#waiting.splice(0)) writeSync(fd, bytes);
    } catch {
      // There is no output left to report to.
    }
    this.#waitingBytes = 0;
  }

  #writeMore(): void {
    if (this.#chunk.length === 0) this.#chunk = this.#takeChunk();
    this.#isBusy = this.#chunk.length > 0;
    if (!this.#isBusy) {
      for (const tell of this.#onIdle.splice(0)) tell();
      return;
    }
    const { fd, clock, write } = this.#options;
    this.#begunMs = clock.monotonicMs();
    write(fd, this.#chunk, 0, this.#chunk.length, null, (error, written) => {
      this.#begunMs = undefined;
      if (error === null) {
        this.#problem = undefined;
        this.#chunk = this.#chunk.subarray(written);
        this.#writeMore();
        return;
      }
      const isStopped = error.code === 'EAGAIN' || error.code === 'EINTR';
      if (!isStopped) this.#problem = error.message;
      clock.setTimer(isStopped ? STOPPED_RETRY_MS : FAILED_RETRY_MS, () => this.#writeMore());
    });
  }

  #takeChunk(): Buffer {
    let [count, bytes] = [0, 0];
    while (count < this.#waiting.length && bytes < CHUNK_BYTES) bytes += this.#waiting[count++]!.length;
    this.#waitingBytes -= bytes;
    return Buffer.concat(this.#waiting.splice(0, count), bytes);
  }
}

/** Whether Node would write to it on the spot: a file, a terminal, another device, and no pipe or socket. */
export function isWrittenOnTheSpot(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || stats.isCharacterDevice() || stats.isBlockDevice();
  } catch {
    return false;
  }
}

/**
 * The same terminal once more, which says at once when it is stopped; another file as it is. Those who share the terminal
 * see nothing of it.
 */
export function withoutWaiting(fd: number): number {
  if (!isatty(fd)) return fd;
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    const own = openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (isatty(own)) return own;
    closeSync(own);
  } catch {
    // Another user's, or no /proc: a thread waits for it then, which is not the one that does everything.
  }
  return fd;
}
