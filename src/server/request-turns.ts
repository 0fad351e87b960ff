import { type Duplex } from 'node:stream';

/** More requests that came before their turn: a client that does not wait for answers is no client of ours. */
const MOST_WAITING = 32;

/**
 * One request of a connection at a time, in the order in which they came. HTTP lets clients send many before the first is
 * answered; all at once, one connection would have more of the agent than a hundred others.
 */
export class RequestTurns {
  readonly #waiting = new WeakMap<Duplex, (() => Promise<void>)[]>();

  /** Does `work` when it is its turn. It must not reject. A connection with too many in wait is closed. */
  take(connection: Duplex, work: () => Promise<void>): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) void this.#doAll(connection, work);
    else if (waiting.length < MOST_WAITING) waiting.push(work);
    else connection.destroy();
  }

  async #doAll(connection: Duplex, first: () => Promise<void>): Promise<void> {
    const waiting: (() => Promise<void>)[] = [];
    this.#waiting.set(connection, waiting);
    for (let next: typeof first | undefined = first; next !== undefined; next = waiting.shift()) {
      if (!connection.destroyed) await next();
    }
    this.#waiting.delete(connection);
  }
}
