/**
 * What a container has written, out of its log files: rotated ones too, from the end when only the end is wanted, and on
 * and on when it is to be followed.
 *
 * In: a folder, the name of a log, what is wanted. Out: pieces of text, the next one read when the one before was taken,
 * so that a reader who does not read costs nothing. Nothing is held but a block of a file, a line, and open files.
 *
 * It assumes that a log is rotated by renaming it, and that whoever writes opens a new one then. A reader who is slow gets
 * the files that there were when he came ({@link OpenLogs}), whatever becomes of them. A follower who is late goes on in the files that came meanwhile, by their times: the one that he was in may be compressed or gone.
 *
 * @module
 */
import { type FileHandle } from 'node:fs/promises';
import { endsLine } from './cri-log-line.js';
import { findTailPlace, type TailPlace } from './find-tail-place.js';
import { blocksOf, gunzip } from './log-blocks.js';
import { type LogChanges } from './log-changes.js';
import { type LogFile, type LogFolder } from './log-folder.js';
import { LogPrinter, type LogSelection } from './log-printer.js';
import { OpenLogs } from './open-logs.js';
import { LineSplitter } from './split-lines.js';

/** What {@link readLog} needs. */
export interface ReadLogOptions {
  readonly folder: LogFolder;
  /** `0.log`. */
  readonly name: string;
  readonly selection: LogSelection;
  /** Only the last lines (default: all). */
  readonly tailLines?: number | undefined;
  /** Goes on until nothing more comes; absent: ends with what is there. */
  readonly follow?: FollowLog | undefined;
  readonly signal: AbortSignal;
}

/** What a follower needs to know. */
export interface FollowLog {
  readonly changes: Pick<LogChanges, 'next'>;
  /** False: nobody writes to the log any more. */
  readonly isWritten: () => boolean;
}

/** See the module. Ends when the signal aborts, too. */
export async function* readLog(options: ReadLogOptions): AsyncGenerator<Buffer, void, undefined> {
  await using reader = new LogReader(options);
  yield* reader.read();
}

interface ClosedFileOptions {
  readonly place?: TailPlace | undefined;
  /** Only what was written later. */
  readonly afterNs?: bigint | undefined;
  /** The file with that inode was read. */
  readonly exceptIno?: number | undefined;
}

class LogReader implements AsyncDisposable {
  readonly #options: ReadLogOptions;
  readonly #printer: LogPrinter;
  /** The file that is written to, how far it was read, and what was read of a line. */
  #file: FileHandle | undefined;
  #offset = 0;
  #splitter = new LineSplitter();

  constructor(options: ReadLogOptions) {
    this.#options = options;
    this.#printer = new LogPrinter(options.selection);
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    const { tailLines, follow } = this.#options;
    yield* this.#begin(tailLines);
    if (this.#isOver()) return;
    if (follow === undefined) yield* this.#readOn();
    else yield* this.#follow(follow);
    if (this.#isOver()) return;
    this.#printer.end();
    yield this.#printer.take();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /** Reads what the log was rotated into before, and finds where to begin in the file that is written to. */
  async *#begin(tailLines: number | undefined): AsyncGenerator<Buffer, void, undefined> {
    const { folder, name } = this.#options;
    await using logs = await OpenLogs.open(folder, name);
    const place = tailLines === undefined ? undefined : await findTailPlace(logs, tailLines);
    for (const [index, file] of logs.rotated.entries()) {
      if (place !== undefined && index < place.index) continue;
      yield* this.#readClosed(logs, file, { place: index === place?.index ? place : undefined });
      if (this.#isOver()) return;
    }
    this.#offset = place?.index === logs.rotated.length ? place.start : 0;
    this.#file = logs.takeCurrent();
  }

  /** It changes while others have their turn. */
  #isOver(): boolean {
    return this.#printer.isFull || this.#options.signal.aborted;
  }

  async *#follow({ changes, isWritten }: FollowLog): AsyncGenerator<Buffer, void, undefined> {
    while (!this.#isOver()) {
      // Asked before the file is read: what was written before the end, or before the rotation, is there then.
      const isLast = !isWritten();
      const isRotated = await this.#isRotated();
      yield* this.#readOn();
      if (this.#isOver()) return;
      if (isRotated) yield* this.#takeUpNewFile();
      else if (isLast) return;
      else await changes.next(this.#options.signal);
    }
  }

  /** Reads the file that is written to up to its end. */
  async *#readOn(): AsyncGenerator<Buffer, void, undefined> {
    if (this.#file === undefined) return;
    for await (const block of blocksOf(this.#file, this.#offset)) {
      this.#offset += block.length;
      for (const line of this.#splitter.push(block)) this.#printer.push(line);
      const text = this.#printer.take();
      if (text.length > 0) yield text;
      if (this.#isOver()) return;
    }
  }

  /** Reads a file that nobody writes to any more. */
  async *#readClosed(
    logs: OpenLogs,
    rotated: LogFile,
    { place, afterNs, exceptIno }: ClosedFileOptions,
  ): AsyncGenerator<Buffer, void, undefined> {
    await using file = await logs.openRotated(rotated);
    const sinceNs = afterNs ?? this.#options.selection.sinceNs;
    if (file === undefined || (sinceNs !== undefined && (await changedNs(file)) < sinceNs)) return;
    if (exceptIno !== undefined && (await file.stat()).ino === exceptIno) return;
    const splitter = new LineSplitter();
    let skipped = place?.skippedLines ?? 0;
    for await (const block of rotated.isCompressed ? gunzip(file) : blocksOf(file, place?.start ?? 0)) {
      for (const line of splitter.push(block)) {
        if (skipped === 0) this.#printer.push(line, afterNs);
        else if (endsLine(line)) skipped--;
      }
      const text = this.#printer.take();
      if (text.length > 0) yield text;
      if (this.#isOver()) return;
    }
  }

  /** Whether the file that was read is no longer the one that is written to. */
  async #isRotated(): Promise<boolean> {
    const { folder, name } = this.#options;
    await using current = await folder.openFile(name);
    if (current === undefined) return false;
    if (this.#file === undefined) return true;
    const [one, other] = await Promise.all([this.#file.stat(), current.stat()]);
    return one.ino !== other.ino;
  }

  /** Reads what came and was rotated away while nobody looked, and then goes on with the new file. */
  async *#takeUpNewFile(): AsyncGenerator<Buffer, void, undefined> {
    const { folder, name } = this.#options;
    const exceptIno = (await this.#file?.stat())?.ino;
    await using logs = await OpenLogs.open(folder, name);
    await this[Symbol.asyncDispose]();
    const afterNs = this.#printer.lastNs;
    for (const file of logs.rotated) {
      if (afterNs !== undefined) yield* this.#readClosed(logs, file, { afterNs, exceptIno });
      if (this.#isOver()) return;
    }
    this.#file = logs.takeCurrent();
    this.#offset = 0;
    this.#splitter = new LineSplitter();
  }
}

/** When it was written to last, rounded up: nanoseconds since the epoch. */
async function changedNs(file: FileHandle): Promise<bigint> {
  const { mtimeMs } = await file.stat();
  return BigInt(Math.ceil(mtimeMs)) * 1_000_000n;
}
