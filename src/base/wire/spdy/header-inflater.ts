import { constants, createInflate, createInflateRaw, type Inflate, type InflateRaw } from 'node:zlib';
import { HEADER_DICTIONARY } from './header-dictionary.js';
import { SpdyError } from './spdy-frame.js';
import { readStoredBlocks } from './stored-blocks.js';

/** The maximum decompressed size of a block, as a few hundred bytes could become megabytes. */
export const MAX_HEADER_BYTES = 16 * 1024;

interface Waiting {
  readonly resolve: (block: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly chunks: Buffer[];
  bytes: number;
}

/** How far back a block can refer (RFC 1951, section 2). */
const REACH_BYTES = 32 * 1024;
/** Blocks may be empty, so their number is limited as well. */
const MAX_RECENT = 512;

/**
 * Decompresses the header blocks of one direction of a connection, which are one zlib stream.
 *
 * It handles one block at a time, in order. Rejects with {@link SpdyError} if the bytes are not zlib or
 * become too many; nothing can be read after that.
 *
 * podloop itself writes only stored blocks, which are read without zlib and its threads. The first other
 * block opens zlib, with everything that this block can refer to.
 */
export class HeaderInflater {
  #zlib: Inflate | InflateRaw | undefined;
  #waiting: Waiting | undefined;
  #failure: SpdyError | undefined;
  /** Whether the head of the stream was read without zlib. */
  #hasBegun = false;
  /** The newest content that was read without zlib, up to REACH_BYTES. */
  #recent: Buffer[] = [];
  #recentBytes = 0;

  inflate(block: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, chunks: [], bytes: 0 };
      if (this.#failure !== undefined) {
        this.#fail(this.#failure.message);
        return;
      }
      const stored = this.#zlib === undefined ? this.#readStored(block) : undefined;
      if (stored !== undefined) this.#take(stored);
      else this.#write((this.#zlib ??= this.#open()), block);
    });
  }

  /** Frees zlib's memory; a pending block is rejected. */
  close(): void {
    this.#fail('the connection is closed');
  }

  #readStored(block: Buffer): Buffer | undefined {
    const stored = readStoredBlocks(block, !this.#hasBegun);
    if (stored === undefined) return undefined;
    this.#hasBegun = true;
    this.#recent.push(stored);
    this.#recentBytes += stored.length;
    // Only from time to time, and not for each block.
    if (this.#recentBytes > 2 * REACH_BYTES || this.#recent.length > MAX_RECENT) {
      this.#recent = [Buffer.from(Buffer.concat(this.#recent).subarray(-REACH_BYTES))];
      this.#recentBytes = this.#recent[0]!.length;
    }
    return stored;
  }

  #take(content: Buffer): void {
    if (content.length > MAX_HEADER_BYTES) {
      this.#fail(`more than ${MAX_HEADER_BYTES} bytes of headers`);
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(content);
  }

  #write(zlib: Inflate | InflateRaw, block: Buffer): void {
    zlib.write(block, (error) => {
      if (error) return;
      // Drains what zlib has produced but the stream has not emitted.
      while (zlib.read() !== null);
      this.#take(Buffer.concat(this.#waiting?.chunks ?? []));
    });
  }

  #open(): Inflate | InflateRaw {
    const flush = constants.Z_SYNC_FLUSH;
    const recent = Buffer.concat([HEADER_DICTIONARY, ...this.#recent]).subarray(-REACH_BYTES);
    this.#recent = [];
    // After the stream's head comes raw DEFLATE.
    const zlib = this.#hasBegun
      ? createInflateRaw({ dictionary: recent, flush })
      : createInflate({ dictionary: HEADER_DICTIONARY, flush });
    zlib.on('data', (chunk: Buffer) => {
      const waiting = this.#waiting;
      if (waiting === undefined) return;
      waiting.chunks.push(chunk);
      waiting.bytes += chunk.length;
      if (waiting.bytes > MAX_HEADER_BYTES) this.#fail(`more than ${MAX_HEADER_BYTES} bytes of headers`);
    });
    zlib.once('error', (error) => this.#fail(`headers cannot be decompressed: ${error.message}`));
    // A stream that declares its end never calls back the write.
    zlib.once('end', () => this.#fail('the compressed stream of headers ended'));
    return zlib;
  }

  #fail(message: string): void {
    this.#failure ??= new SpdyError(message);
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
    this.#zlib?.destroy();
  }
}
