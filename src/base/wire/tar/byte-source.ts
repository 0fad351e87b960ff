import { type FileHandle } from 'node:fs/promises';

/** Bytes that are read once, from the first to the last. */
export interface ByteSource {
  /** How many bytes were read or passed over. */
  readonly position: number;
  /** The next `length` bytes; fewer at the end. Keep `length` small: they are held in memory. */
  read(length: number): Promise<Buffer>;
  /** The next `length` bytes in pieces; fewer at the end. */
  pieces(length: number): AsyncGenerator<Buffer>;
  /** Passes over `length` bytes; returns how many there were. */
  skip(length: number): Promise<number>;
}

const PIECE = 256 * 1024;

/** Reads a stream. */
export class StreamSource implements ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #position = 0;

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  get position(): number {
    return this.#position;
  }

  async read(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const piece of this.pieces(length)) parts.push(piece);
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      if (this.#rest.length === 0 && !(await this.#fill())) return;
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      this.#position += piece.length;
      left -= piece.length;
      yield piece;
    }
  }

  async skip(length: number): Promise<number> {
    let skipped = 0;
    for await (const piece of this.pieces(length)) skipped += piece.length;
    return skipped;
  }

  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) return false;
      this.#rest = next.value;
    }
    return true;
  }
}

/** Reads a part of a file; passing over costs nothing. */
export class FileSource implements ByteSource {
  readonly #file: FileHandle;
  readonly #start: number;
  readonly #end: number;
  #at: number;

  /** From byte `start` up to `end`, which is not in it. The file stays the caller's to close. */
  constructor(file: FileHandle, start: number, end: number) {
    this.#file = file;
    this.#start = start;
    this.#end = end;
    this.#at = start;
  }

  get position(): number {
    return this.#at - this.#start;
  }

  async read(length: number): Promise<Buffer> {
    const wanted = Math.min(length, this.#end - this.#at);
    const buffer = Buffer.alloc(wanted);
    let have = 0;
    while (have < wanted) {
      const { bytesRead } = await this.#file.read(buffer, have, wanted - have, this.#at + have);
      if (bytesRead === 0) break;
      have += bytesRead;
    }
    this.#at += have;
    return buffer.subarray(0, have);
  }

  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      const piece = await this.read(Math.min(left, PIECE));
      if (piece.length === 0) return;
      left -= piece.length;
      yield piece;
    }
  }

  skip(length: number): Promise<number> {
    const step = Math.min(length, this.#end - this.#at);
    this.#at += step;
    return Promise.resolve(step);
  }
}
