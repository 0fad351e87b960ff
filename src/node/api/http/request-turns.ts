import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';

/** Limit for requests before their turn: a client that does not wait for answers is closed. */
const MAX_WAITING = 32;
/** Limit for their URLs and headers, as unidentified clients can queue large ones. */
const MAX_WAITING_CHARS = 256 * 1024;

interface Work {
  readonly chars: number;
  readonly run: () => Promise<void>;
}

interface Waiting {
  readonly works: Work[];
  /** Of all of them. */
  chars: number;
}

/**
 * Runs one request of a connection at a time, in the order in which they came.
 *
 * HTTP lets clients send many before the first is answered. In parallel, one connection would get more of the
 * agent than a hundred others.
 */
export class RequestTurns {
  readonly #waiting = new WeakMap<Duplex, Waiting>();

  /**
   * Runs `work` when it is its turn. It must not reject. A connection with too much in its queue is closed.
   */
  take(connection: Duplex, request: IncomingMessage, work: () => Promise<void>): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) {
      void this.#doAll(connection, work);
      return;
    }
    const chars = sizeOf(request);
    waiting.chars += chars;
    if (waiting.works.length < MAX_WAITING && waiting.chars <= MAX_WAITING_CHARS)
      waiting.works.push({ chars, run: work });
    else connection.destroy();
  }

  async #doAll(connection: Duplex, first: () => Promise<void>): Promise<void> {
    const waiting: Waiting = { works: [], chars: 0 };
    this.#waiting.set(connection, waiting);
    let next: Work | undefined = { chars: 0, run: first };
    while (next !== undefined) {
      waiting.chars -= next.chars;
      if (!connection.destroyed) await next.run();
      next = waiting.works.shift();
    }
    this.#waiting.delete(connection);
  }
}

function sizeOf({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}
