import { constants, createInflate, type Inflate } from 'node:zlib';
import { HEADER_DICTIONARY } from './header-dictionary.js';
import { SpdyError } from './spdy-frame.js';
import { readStoredBlocks } from './stored-blocks.js';

/** The most that one block may become; a few hundred bytes of deflate could become megabytes. */
export const MOST_HEADER_BYTES = 16 * 1024;

interface Waiting {
  readonly resolve: (block: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly chunks: Buffer[];
  bytes: number;
}

/** So many bytes of blocks that were read without zlib are kept, in case that it is needed later. */
const MOST_KEPT_BYTES = 64 * 1024;

/**
 * Decompresses the header blocks of one direction of a connection, which are one zlib stream.
 *
 * One block at a time, in the order in which they came. Rejects with {@link SpdyError} when the bytes are no zlib or
 * become too many; nothing can be read any more after that.
 *
 * podloop itself writes stored blocks alone, which are read without zlib. The first block that is otherwise opens it; it then
 * reads all blocks from the beginning, since it may refer to them.
 */
export class HeaderInflater {
  #zlib: Inflate | undefined;
  #waiting: Waiting | undefined;
  #failure: SpdyError | undefined;
  /** The blocks that were read without zlib. */
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #isCatchingUp = false;

  inflate(block: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, chunks: [], bytes: 0 };
      if (this.#failure !== undefined) {
        this.#fail(this.#failure.message);
        return;
      }
      const stored = this.#zlib === undefined ? this.#readStored(block) : undefined;
      if (stored !== undefined) this.#take(stored);
      else if (this.#zlib !== undefined) this.#write(this.#zlib, block);
      else this.#catchUp(block);
    });
  }

  /** Frees what zlib holds; a block that is still being read is refused. */
  close(): void {
    this.#fail('the connection is closed');
  }

  #readStored(block: Buffer): Buffer | undefined {
    if (this.#keptBytes + block.length > MOST_KEPT_BYTES) return undefined;
    const stored = readStoredBlocks(block, this.#kept.length === 0);
    if (stored === undefined) return undefined;
    this.#kept.push(Buffer.from(block));
    this.#keptBytes += block.length;
    return stored;
  }

  #take(content: Buffer): void {
    if (content.length > MOST_HEADER_BYTES) {
      this.#fail(`more than ${MOST_HEADER_BYTES} bytes of headers`);
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(content);
  }

  /** Opens zlib with what was read without it, and reads on. */
  #catchUp(block: Buffer): void {
    const zlib = (this.#zlib = this.#open());
    if (this.#kept.length === 0) {
      this.#write(zlib, block);
      return;
    }
    this.#isCatchingUp = true;
    zlib.write(Buffer.concat(this.#kept), (error) => {
      if (error) return;
      while (zlib.read() !== null);
      this.#isCatchingUp = false;
      this.#kept.length = 0;
      this.#write(zlib, block);
    });
  }

  #write(zlib: Inflate, block: Buffer): void {
    zlib.write(block, (error) => {
      if (error) return;
      // Takes what zlib has handed out but the stream has not.
      while (zlib.read() !== null);
      this.#take(Buffer.concat(this.#waiting?.chunks ?? []));
    });
  }

  #open(): Inflate {
    const zlib = createInflate({ dictionary: HEADER_DICTIONARY, flush: constants.Z_SYNC_FLUSH });
    zlib.on('data', (chunk: Buffer) => {
      const waiting = this.#waiting;
      if (waiting === undefined || this.#isCatchingUp) return;
      waiting.chunks.push(chunk);
      waiting.bytes += chunk.length;
      if (waiting.bytes > MOST_HEADER_BYTES) this.#fail(`more than ${MOST_HEADER_BYTES} bytes of headers`);
    });
    zlib.once('error', (error) => this.#fail(`headers cannot be decompressed: ${error.message}`));
    // A stream that says it is over leaves the callback of the write waiting for ever.
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
