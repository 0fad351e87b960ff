import { Readable } from 'node:stream';

/** Who counts what waits. */
export interface InboundCount {
  /** `cost` is at least `bytes`: what it takes to keep them. */
  take(cost: number): void;
  release(cost: number, bytes: number): void;
}

/**
 * One direction of one stream of a connection: what the client has sent and nobody has read yet.
 *
 * What waits here is counted for the connection as a whole; once destroyed it takes everything and keeps
 * nothing.
 */
export class InboundStream extends Readable {
  readonly #count: InboundCount;
  #waiting: Buffer[] = [];
  #wanted = false;
  #ended = false;
  #finished = false;

  constructor(count: InboundCount) {
    // What is pushed counts as taken, so little is pushed ahead of the reader.
    super({ highWaterMark: 16 * 1024 });
    this.#count = count;
  }

  /** The client has sent this. Ignored after the end. */
  deliver(chunk: Buffer): void {
    if (this.#ended || this.destroyed || chunk.length === 0) return;
    this.#keep(chunk);
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
    for (const chunk of this.#waiting.splice(0)) this.#count.release(costOf(chunk), chunk.length);
    callback(error);
  }

  #keep(chunk: Buffer): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.length + chunk.length <= JOINED_BYTES) {
      // Many small pieces must not cost more than their bytes: a client's window bounds nothing else.
      const joined = Buffer.concat([last, chunk]);
      this.#waiting[this.#waiting.length - 1] = joined;
      this.#count.take(costOf(joined) - costOf(last));
      return;
    }
    // A few bytes cut out of a large buffer would keep all of it.
    const kept = chunk.buffer.byteLength > 4 * chunk.length ? Buffer.from(chunk) : chunk;
    this.#waiting.push(kept);
    this.#count.take(costOf(kept));
  }

  #pass(): void {
    while (this.#wanted && this.#waiting.length > 0) {
      const chunk = this.#waiting.shift()!;
      this.#wanted = this.push(chunk);
      this.#count.release(costOf(chunk), chunk.length);
    }
    if (this.#waiting.length > 0 || !this.#ended || this.#finished || this.destroyed) return;
    this.#finished = true;
    this.push(null);
  }
}

/** What the object itself takes, besides its bytes. */
const LEAST_COST = 128;
/** Pieces that wait are joined up to this size, so that the object costs little beside its bytes. */
const JOINED_BYTES = 2 * 1024;

function costOf({ length }: Buffer): number {
  return Math.max(length, LEAST_COST);
}
