import { type OnReadOpts } from 'node:net';

const BUFFER_BYTES = 65_536;

/**
 * What a socket reads into: the same memory again and again, as long as nobody keeps what was read.
 *
 * Else every 64 KiB that pass are memory of their own, which the collector of garbage finds late: a list of megabytes
 * costs more of its time than all else.
 */
export class ReusedBuffer {
  /** For the socket. */
  readonly onread: OnReadOpts;
  /** Takes what was read. */
  onChunk: (chunk: Buffer) => void = () => undefined;
  /** Whether nobody holds any of it any more. */
  isFree: () => boolean = () => false;
  #buffer: Buffer | undefined;

  constructor() {
    this.onread = {
      buffer: () => {
        if (this.#buffer === undefined || !this.isFree()) this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
        return this.#buffer;
      },
      callback: (length) => {
        this.onChunk(this.#buffer!.subarray(0, length));
        return true;
      },
    };
  }
}
