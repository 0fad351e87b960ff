import { type FileHandle } from 'node:fs/promises';
import { endsLine } from './cri-log-line.js';
import { LineSplitter } from './split-lines.js';

/** Where the last lines of a file begin. */
export interface LogTail {
  /** Offset in bytes. */
  readonly start: number;
  /** How many lines of the program begin from there on. */
  readonly lines: number;
}

const BLOCK_BYTES = 64 * 1024;
const LINE_END = 0x0a;
/** The beginning of a line shows whether it continues. */
const HEAD_BYTES = 128;

/**
 * Finds where the last `wanted` lines of a program begin in a log file of `size` bytes, reading it backwards
 * by blocks.
 *
 * Lines that a runtime has split count once; an unfinished line at the end does not count.
 */
export async function findTail(file: FileHandle, size: number, wanted: number): Promise<LogTail> {
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  const count = new BackwardCount(size, wanted);
  let end = size;
  while (end > 0) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    let to = bytesRead;
    while (to > 0) {
      const at = block.lastIndexOf(LINE_END, to - 1);
      count.prepend(block.subarray(at + 1, to));
      if (at === -1) break;
      if (count.endLine()) return count.tail;
      to = at;
    }
    end = start;
  }
  count.endLine();
  return count.tail;
}

/** Counts the lines of a file that is read backwards. */
class BackwardCount {
  readonly #wanted: number;
  /** Of the current line. */
  #head: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Where the line after it begins. */
  #start: number;
  #lines = 0;
  #met: 'nothing' | 'the rest' | 'lines' = 'nothing';

  constructor(size: number, wanted: number) {
    this.#start = size;
    this.#wanted = wanted;
  }

  get tail(): LogTail {
    return { start: this.#start, lines: this.#lines };
  }

  /** Adds what stands before the part already read of the line. */
  prepend(part: Buffer): void {
    this.#head = Buffer.concat([part.subarray(0, HEAD_BYTES), this.#head]).subarray(0, HEAD_BYTES);
    this.#length += part.length;
  }

  /** The line begins here. True when it is one too many. */
  endLine(): boolean {
    const [head, length, met] = [this.#head, this.#length, this.#met];
    this.#head = Buffer.alloc(0);
    this.#length = 0;
    this.#met = met === 'nothing' ? 'the rest' : 'lines';
    // Text after the last line end is unfinished.
    if (met === 'nothing') {
      this.#start -= length;
      return this.#wanted === 0;
    }
    // A split line without its rest is a line, too.
    if (endsLine(head) || met === 'the rest') {
      if (this.#lines === this.#wanted) return true;
      this.#lines++;
    }
    this.#start -= length + 1;
    return false;
  }
}

/** How many lines of a program end in these chunks. */
export async function countLines(chunks: AsyncIterable<Buffer>): Promise<number> {
  const splitter = new LineSplitter();
  let lines = 0;
  let isOpen = false;
  for await (const chunk of chunks) {
    for (const line of splitter.push(chunk)) {
      isOpen = !endsLine(line);
      if (!isOpen) lines++;
    }
  }
  return isOpen ? lines + 1 : lines;
}
