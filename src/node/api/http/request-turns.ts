import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';

/** More requests that came before their turn: a client that does not wait for answers is no client of ours. */
const MOST_WAITING = 32;
/** And of what they say in URLs and headers: strangers can have large ones wait. */
const MOST_WAITING_CHARS = 256 * 1024;

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
 * One request of a connection at a time, in the order in which they came. HTTP lets clients send many before the first is
 * answered; all at once, one connection would have more of the agent than a hundred others.
 */
export class RequestTurns {
  readonly #waiting = new WeakMap<Duplex, Waiting>();

  /** Does `work` when it is its turn. It must not reject. A connection with too much in wait is closed. */
  take(connection: Duplex, request: IncomingMessage, work: () => Promise<void>): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) {
      void this.#doAll(connection, work);
      return;
    }
    const chars = sizeOf(request);
    waiting.chars += chars;
    if (waiting.works.length < MOST_WAITING && waiting.chars <= MOST_WAITING_CHARS)
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
