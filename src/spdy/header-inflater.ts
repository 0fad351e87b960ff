import { constants, createInflate, type Inflate } from 'node:zlib';
import { makeHeaderDictionary } from './header-dictionary.js';
import { SpdyError } from './spdy-frame.js';

/** The most that one block may become; a few hundred bytes of deflate could become megabytes. */
export const MOST_HEADER_BYTES = 16 * 1024;

interface Waiting {
  readonly resolve: (block: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly chunks: Buffer[];
  bytes: number;
}

/**
 * Decompresses the header blocks of one direction of a connection, which are one zlib stream.
 *
 * One block at a time, in the order in which they came. Rejects with {@link SpdyError} when the bytes are no zlib or
 * become too many; nothing can be read any more after that.
 */
export class HeaderInflater {
  #zlib: Inflate | undefined;
  #waiting: Waiting | undefined;
  #failure: SpdyError | undefined;

  inflate(block: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, chunks: [], bytes: 0 };
      if (this.#failure !== undefined) {
        this.#fail(this.#failure.message);
        return;
      }
      const zlib = (this.#zlib ??= this.#open());
      zlib.write(block, (error) => {
        if (error) return;
        // Takes what zlib has handed out but the stream has not.
        while (zlib.read() !== null);
        const waiting = this.#waiting;
        this.#waiting = undefined;
        waiting?.resolve(Buffer.concat(waiting.chunks));
      });
    });
  }

  /** Frees what zlib holds; a block that is still being read is refused. */
  close(): void {
    this.#fail('the connection is closed');
  }

  #open(): Inflate {
    const zlib = createInflate({ dictionary: makeHeaderDictionary(), flush: constants.Z_SYNC_FLUSH });
    zlib.on('data', (chunk: Buffer) => {
      const waiting = this.#waiting;
      if (waiting === undefined) return;
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
