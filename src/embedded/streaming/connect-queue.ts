import { type Duplex } from 'node:stream';
import { type Clock } from '../../util/clock.js';
import { linkAbort } from '../../util/linked-abort.js';
import { refused } from '../rpc-error.js';

/** How many connections into sandboxes are being made at once: each costs a process for some 50 ms. */
const MOST_AT_ONCE = 4;
/** A program that does not accept leaves an attempt without an answer: it must not take a place from other pods. */
export const CONNECT_MS = 10_000;

/** Makes connections a few at a time, in the order in which they were asked for. */
export class ConnectQueue {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /**
   * Connects when it is its turn. Rejects as `connect` does, whose signal aborts when `signal` does and when nobody
   * has answered within {@link CONNECT_MS}; and with the signal's reason when that aborts before.
   */
  async connect(connect: (signal: AbortSignal) => Promise<Duplex>, signal: AbortSignal): Promise<Duplex> {
    while (this.#underWay >= MOST_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#underWay++;
    const attempt = linkAbort(signal);
    const late = refused(`nobody accepts the connection within ${CONNECT_MS / 1000} s`);
    const limit = this.#clock.setTimer(CONNECT_MS, () => attempt.abort(late), { unref: true });
    try {
      signal.throwIfAborted();
      return await connect(attempt.signal);
    } finally {
      limit.cancel();
      attempt.unlink();
      this.#underWay--;
      this.#waiting.shift()?.();
    }
  }
}
