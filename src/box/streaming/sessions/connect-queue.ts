import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { ChosenLine } from '#base/async/slot-line.js';
import { Slots } from '#base/async/slots.js';
import { refused } from '../../rpc-error.js';

/** How many connections into sandboxes are being made at once: each holds a socket and a timer. */
const MAX_AT_ONCE = 128;
/** Maximum per sandbox, so that a pod whose ports do not answer leaves room for others. */
const MAX_INTO_ONE = 32;
/** A program that does not accept leaves an attempt without an answer: it must not take a place from other pods. */
export const CONNECT_MS = 10_000;

/** The way into a sandbox is a process that may have to be started, and waits for its turn of the CPU on a busy machine. */
export const ENTER_MS = 60_000;

/** One attempt to connect. */
export interface ConnectAttempt {
  /** Aborts when nobody wants the connection any more, and when it takes too long. */
  readonly signal: AbortSignal;
  /** To be called when the program is asked: it has {@link CONNECT_MS} from then on. */
  readonly onAsked: () => void;
}

/** What a {@link ConnectQueue} needs. */
export interface ConnectQueueOptions {
  readonly clock: Clock;
  /** How many connections are made at once (default: 128). */
  readonly maxAtOnce?: number;
  /** How many of them into the same sandbox (default: 32). */
  readonly maxIntoOne?: number;
}

/** Who wants to be connected. */
export interface ConnectTurn {
  readonly sandboxId: string;
  /** Aborts when nobody wants the connection any more. */
  readonly signal: AbortSignal;
}

/**
 * Makes connections a few at a time: of those that wait the sandbox has its turn into which the fewest are being made,
 * and of its own the one that was asked for first.
 */
export class ConnectQueue {
  readonly #clock: Clock;
  /** By ids of sandboxes. */
  readonly #slots: Slots<string>;

  constructor({ clock, maxAtOnce = MAX_AT_ONCE, maxIntoOne = MAX_INTO_ONE }: ConnectQueueOptions) {
    this.#clock = clock;
    const line = new ChosenLine<string>((waiting, inside) => findNext(waiting, inside, maxIntoOne));
    this.#slots = new Slots({ limit: maxAtOnce, line });
  }

  /** How many wait for their turn. */
  get waitingCount(): number {
    return this.#slots.facts.waiting;
  }

  /**
   * Connects when it is its turn. Rejects as `connect` does, whose signal aborts when the turn's does, when the sandbox is
   * not entered within {@link ENTER_MS}, and when nobody has answered within {@link CONNECT_MS} after that; and with the turn's
   * reason, at once, when that aborts before.
   */
  async connect(connect: (attempt: ConnectAttempt) => Promise<Duplex>, turn: ConnectTurn): Promise<Duplex> {
    const release = await this.#slots.take(turn.sandboxId, turn.signal);
    const attempt = linkAbort(turn.signal);
    const limitTo = (limitMs: number, what: string): ClockTimer =>
      this.#clock.setTimer(limitMs, () => attempt.abort(refused(`${what} within ${limitMs / 1000} s`)), {
        unref: true,
      });
    let limit = limitTo(ENTER_MS, 'the network of the sandbox is not entered');
    const onAsked = (): void => {
      limit.cancel();
      limit = limitTo(CONNECT_MS, 'nobody accepts the connection');
    };
    try {
      return await connect({ signal: attempt.signal, onAsked });
    } finally {
      limit.cancel();
      attempt.unlink();
      release();
    }
  }
}

/** Of the sandboxes into which the fewest connections are being made the one that came first. */
function findNext(
  waiting: Iterable<string>,
  underWay: Iterable<string>,
  maxIntoOne: number,
): number | undefined {
  const counts = new Map<string, number>();
  for (const sandboxId of underWay) counts.set(sandboxId, (counts.get(sandboxId) ?? 0) + 1);
  let next: number | undefined;
  let fewest = maxIntoOne;
  for (const [index, sandboxId] of [...waiting].entries()) {
    const count = counts.get(sandboxId) ?? 0;
    if (count < fewest) [next, fewest] = [index, count];
    if (fewest === 0) break;
  }
  return next;
}
