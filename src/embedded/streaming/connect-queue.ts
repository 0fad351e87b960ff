import { type Duplex } from 'node:stream';

/** How many connections into sandboxes are being made at once: each costs a process for some 50 ms. */
const MOST_AT_ONCE = 4;

/** Makes connections a few at a time, in the order in which they were asked for. */
export class ConnectQueue {
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  /** Connects when it is its turn. Rejects as `connect` does, and with the signal's reason when it aborts before. */
  async connect(connect: () => Promise<Duplex>, signal: AbortSignal): Promise<Duplex> {
    while (this.#underWay >= MOST_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#underWay++;
    try {
      signal.throwIfAborted();
      return await connect();
    } finally {
      this.#underWay--;
      this.#waiting.shift()?.();
    }
  }
}
