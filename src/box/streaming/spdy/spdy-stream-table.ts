import { ResetStatus } from '#base/wire/spdy/spdy-frame.js';
import { type SpdyStream } from './spdy-stream.js';

/** Open streams at once; a forwarded connection has two. A further one is refused. */
export const MAX_STREAMS = 512;

/** The open streams of a connection by their numbers, and which number may come next. */
export class SpdyStreamTable {
  readonly #streams = new Map<number, SpdyStream>();
  #last = 0;

  /** The highest number that a client has used. */
  get last(): number {
    return this.#last;
  }

  find(id: number): SpdyStream | undefined {
    return this.#streams.get(id);
  }

  values(): IterableIterator<SpdyStream> {
    return this.#streams.values();
  }

  /** Uses up the number of a new stream: undefined, or the status with which the stream has to be reset. */
  claim(id: number): number | undefined {
    // Clients count upwards, in odd numbers.
    if (id % 2 === 0 || id <= this.#last) return ResetStatus.protocolError;
    this.#last = id;
    return this.#streams.size >= MAX_STREAMS ? ResetStatus.refusedStream : undefined;
  }

  add(stream: SpdyStream): void {
    this.#streams.set(stream.id, stream);
  }

  /** Takes a stream out; undefined where there is none of that number. */
  remove(id: number): SpdyStream | undefined {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    return stream;
  }

  /** Takes all out, as when the connection is gone. */
  abandonAll(): void {
    for (const stream of this.#streams.values()) stream.abandon();
    this.#streams.clear();
  }
}
