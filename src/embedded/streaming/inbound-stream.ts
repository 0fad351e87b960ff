import { Readable } from 'node:stream';
import { type ReadAhead } from './read-ahead.js';

/**
 * One direction of one stream of a connection: what the client has sent and nobody has read yet.
 *
 * What waits here is counted by the connection's {@link ReadAhead}; once destroyed it takes everything and keeps
 * nothing.
 */
export class InboundStream extends Readable {
  readonly #readAhead: ReadAhead;
  #waiting: Buffer[] = [];
  #wanted = false;
  #ended = false;
  #finished = false;

  constructor(readAhead: ReadAhead) {
    // What is pushed counts as taken, so little is pushed ahead of the reader.
    super({ highWaterMark: 16 * 1024 });
    this.#readAhead = readAhead;
  }

  /** The client has sent this. Ignored after the end. */
  deliver(chunk: Buffer): void {
    if (this.#ended || this.destroyed || chunk.length === 0) return;
    this.#waiting.push(chunk);
    this.#readAhead.take(chunk.length);
    this.#pass();
  }

  /** The client sends nothing more. */
  deliverEnd(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#pass();
  }

  override _read(): void {
    this.#wanted = true;
    this.#pass();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    for (const { length } of this.#waiting.splice(0)) this.#readAhead.release(length);
    callback(error);
  }

  #pass(): void {
    while (this.#wanted && this.#waiting.length > 0) {
      const chunk = this.#waiting.shift()!;
      this.#wanted = this.push(chunk);
      this.#readAhead.release(chunk.length);
    }
    if (this.#waiting.length > 0 || !this.#ended || this.#finished || this.destroyed) return;
    this.#finished = true;
    this.push(null);
  }
}
