/**
 * Reads what a container has written from its log files.
 *
 * That includes rotated files. It reads backwards if only the end is wanted, and continues if it is followed.
 *
 * In: a folder, the name of a log, and options. Out: pieces of text, the next one read when the one before
 * was taken, so that an idle reader costs nothing. Memory has only a block of a file, a line, and open files.
 *
 * It assumes that a log is rotated by renaming it, and that the writer then opens a new one. A slow reader
 * gets the files as they were at the start ({@link OpenLogs}), whatever happens to them. A late follower
 * continues in the files that came meanwhile, by their times, as its own one may be compressed or gone.
 *
 * @module
 */
import { type FileHandle } from 'node:fs/promises';
import { endsLine } from './cri-log-line.js';
import { type LogChanges } from './log-changes.js';
import { type LogFile, type LogFolder } from './log-folder.js';
import { LogPrinter, type LogSelection } from './log-printer.js';
import { OpenLogs } from './open-logs.js';
import { LineSplitter } from './split-lines.js';
import { countLines, findTail } from './find-tail.js';
import { createGunzip } from 'node:zlib';
import { systemCodeOf } from '#base/errors/system-code.js';

/** What {@link readLog} needs. */
export interface ReadLogOptions {
  readonly folder: LogFolder;
  /** `0.log`. */
  readonly name: string;
  readonly selection: LogSelection;
  /** Only the last lines (default: all). */
  readonly tailLines?: number | undefined;
  /** Continues until nothing more comes; absent: ends with what exists when the reader begins. */
  readonly follow?: FollowLog | undefined;
  readonly signal: AbortSignal;
}

/** What a follower needs to know. */
export interface FollowLog {
  readonly changes: Pick<LogChanges, 'next'>;
  /** False: nothing writes to the log any more. */
  readonly isWritten: () => boolean;
}

/** See the module. Also ends when the signal aborts. */
export async function* readLog(options: ReadLogOptions): AsyncGenerator<Buffer, void, undefined> {
  await using reader = new LogReader(options);
  yield* reader.read();
}

interface ClosedFileOptions {
  readonly place?: TailPlace | undefined;
  /** Only later lines. */
  readonly afterNs?: bigint | undefined;
  /** The file with that inode was read. */
  readonly exceptIno?: number | undefined;
}

class LogReader implements AsyncDisposable {
  readonly #options: ReadLogOptions;
  readonly #printer: LogPrinter;
  /** The current file, how far it was read, and the beginning of an unfinished line. */
  #file: FileHandle | undefined;
  #offset = 0;
  /** Where to end in it, if nobody follows: it may grow faster than its reader comes to its end. */
  #end: number | undefined;
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

  /** Reads the rotated files, and finds where to begin in the current one. */
  async *#begin(tailLines: number | undefined): AsyncGenerator<Buffer, void, undefined> {
    const { folder, name, follow } = this.#options;
    await using logs = await OpenLogs.open(folder, name);
    const size = (await logs.current?.stat())?.size ?? 0;
    if (follow === undefined) this.#end = size;
    const place = tailLines === undefined ? undefined : await findTailPlace(logs, size, tailLines);
    for (const [index, file] of logs.rotated.entries()) {
      if (place !== undefined && index < place.index) continue;
      yield* this.#readClosed(logs, file, { place: index === place?.index ? place : undefined });
      if (this.#isOver()) return;
    }
    this.#offset = place?.index === logs.rotated.length ? place.start : 0;
    this.#file = logs.takeCurrent();
  }

  /** It changes during awaits. */
  #isOver(): boolean {
    return this.#printer.isFull || this.#options.signal.aborted;
  }

  async *#follow({ changes, isWritten }: FollowLog): AsyncGenerator<Buffer, void, undefined> {
    while (!this.#isOver()) {
      // Checked before the file is read, so that everything from before the end or the rotation is there.
      const isLast = !isWritten();
      const isRotated = await this.#isRotated();
      yield* this.#readOn();
      if (this.#isOver()) return;
      if (isRotated) yield* this.#takeUpNewFile();
      else if (isLast) return;
      else await changes.next(this.#options.signal);
    }
  }

  /** Reads the current file to its end. */
  async *#readOn(): AsyncGenerator<Buffer, void, undefined> {
    if (this.#file === undefined) return;
    for await (const block of blocksOf(this.#file, this.#offset, this.#end)) {
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

  /** Whether the file that was read is no longer the current one. */
  async #isRotated(): Promise<boolean> {
    const { folder, name } = this.#options;
    await using current = await folder.openFile(name);
    if (current === undefined) return false;
    if (this.#file === undefined) return true;
    const [one, other] = await Promise.all([this.#file.stat(), current.stat()]);
    return one.ino !== other.ino;
  }

  /** Reads what came and was rotated away meanwhile, and then continues with the new file. */
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

/** The time of the last write, rounded up: nanoseconds since the epoch. */
async function changedNs(file: FileHandle): Promise<bigint> {
  const { mtimeMs } = await file.stat();
  return BigInt(Math.ceil(mtimeMs)) * 1_000_000n;
}

/** Where the last lines of a log begin. */
interface TailPlace {
  /** The index among the rotated files; behind them all for the current file. */
  readonly index: number;
  /** Offset in it. */
  readonly start: number;
  /** Lines of a compressed file to skip. */
  readonly skippedLines: number;
}

/** Finds where the last `wanted` lines of all files together begin; the current one has `size` bytes. */
async function findTailPlace(logs: OpenLogs, size: number, wanted: number): Promise<TailPlace> {
  const { rotated, current } = logs;
  let left = wanted;
  if (current !== undefined) {
    const { start, lines } = await findTail(current, size, left);
    left -= lines;
    if (left === 0) return { index: rotated.length, start, skippedLines: 0 };
  }
  for (const [index, each] of [...rotated.entries()].reverse()) {
    await using file = await logs.openRotated(each);
    if (file === undefined) continue;
    if (each.isCompressed) {
      const lines = await countLines(gunzip(file));
      if (lines >= left) return { index, start: 0, skippedLines: lines - left };
      left -= lines;
    } else {
      const { start, lines } = await findTail(file, (await file.stat()).size, left);
      left -= lines;
      if (left === 0) return { index, start, skippedLines: 0 };
    }
  }
  return { index: 0, start: 0, skippedLines: 0 };
}

const BLOCK_BYTES = 64 * 1024;

/** Reads a file from an offset to `end` (default: its own), block by block; each block reuses the same buffer. */
async function* blocksOf(
  file: FileHandle,
  start: number,
  end = Infinity,
): AsyncGenerator<Buffer, void, undefined> {
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (let offset = start; ;) {
    const { bytesRead } = await file.read(block, 0, Math.min(block.length, end - offset), offset);
    if (bytesRead === 0) return;
    offset += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}

/** The content of a compressed file, up to where it is broken: anybody may have put it there. */
async function* gunzip(file: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  const source = file.createReadStream({ autoClose: false, start: 0 });
  const unzip = createGunzip();
  source.on('error', (error) => unzip.destroy(error));
  source.pipe(unzip);
  try {
    for await (const chunk of unzip as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    const code = systemCodeOf(error);
    if (!code.startsWith('Z_')) throw error;
  } finally {
    source.destroy();
    unzip.destroy();
  }
}
