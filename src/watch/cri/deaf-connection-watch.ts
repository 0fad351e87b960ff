/**
 * Finds a connection that no longer hears its server although the server is well.
 *
 * Node's HTTP/2 does this to itself. Its header decoder takes no value above 64 KiB, a constant of nghttp2 that no
 * setting moves, and gRPC puts the text of an error into a header. When a longer one comes, the session sends the
 * server a GOAWAY (COMPRESSION_ERROR), stops reading its socket and sends nothing any more: no event on the
 * stream, the session or the socket, not even the end of the socket is noticed (seen with Node 20.20). Every call
 * on it then waits for its deadline, later ones too.
 *
 * In: that a call was sent, and what the socket has moved. Out: one report per deaf connection. It assumes that
 * silence proves nothing: the runtime may take its time over a call, or be stopped. So, when calls wait and no byte
 * has come for a while, a call that any gRPC server answers by itself goes out on this connection and, if that
 * brings no byte, on a second one; only when the second one is answered and this one stays silent is it deaf. A
 * runtime that is stopped answers neither, one that works on a long call answers both. One that gets hardly any CPU,
 * as with hundreds of containers that die at once, may answer the second one long before the first: as long as ours
 * still sends, it is given time. What it cannot tell apart is a server that allows few calls at a time on one
 * connection and has so many hanging; the runtimes set no such limit.
 *
 * @module
 */
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';

/** What one connection has moved so far, in bytes. */
export interface MovedBytes {
  /** Compared by identity: another one is another connection. */
  readonly connection: object;
  readonly read: number;
  readonly written: number;
}

/** What was found out about a connection that is deaf. */
export interface DeafConnection {
  readonly connection: object;
  /** Bytes it had written when it fell silent; a call begun at or after this was never sent. */
  readonly written: number;
  /** It does not send either: its own HTTP/2 session gave up, and the fault is not on the way or the server's. */
  readonly mute: boolean;
}

/** What a {@link DeafConnectionWatch} asks and tells. */
export interface DeafConnectionWatchOptions {
  readonly clock: Clock;
  /** Undefined while there is no connection. */
  readonly movedBytes: () => MovedBytes | undefined;
  /** Whether any call waits for its answer. */
  readonly callsWait: () => boolean;
  /** Sends a call that every server answers, on the watched connection. Returns what ends it. */
  readonly knock: () => () => void;
  /** Sends the same on a second connection: true when it was answered. Never rejects, settles within a bounded time. */
  readonly knockElsewhere: () => Promise<boolean>;
  readonly onDeaf: (found: DeafConnection) => void;
}

// Most calls are answered in a few milliseconds, so that silence for this long is worth a question. One costs the
// server about as much as a call of an unknown method: nothing that it would notice at this rate.
const FIRST_QUIET_MS = 500;
const LONGEST_QUIET_MS = 30_000;
// How long a server that is well may take to answer what it answers by itself; and by how much later than on the
// second connection its answer may come on the watched one.
const GRACE_MS = 250;
// The same where ours still sends: whoever replaces a connection loses its stream of events, and learns later what died.
const STARVED_GRACE_MS = 15_000;

/** See the module's comment. Its timer is set by a call, and not again once none waits. */
export class DeafConnectionWatch {
  readonly #options: DeafConnectionWatchOptions;
  #timer: ClockTimer | undefined;
  #quietMs = FIRST_QUIET_MS;
  #givenUp = false;
  #asking = false;
  #calls = 0;
  #closed = false;

  constructor(options: DeafConnectionWatchOptions) {
    this.#options = options;
  }

  /** A call is about to be sent. */
  noteCall(): void {
    this.#calls++;
    if (this.#closed || this.#asking) return;
    if (this.#timer === undefined || this.#quietMs > FIRST_QUIET_MS) this.#arm(FIRST_QUIET_MS);
  }

  /** A call was given up before its answer came: its caller may be one that never waits for long. */
  noteGivenUp(): void {
    this.#givenUp = true;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(quietMs: number): void {
    this.#timer?.cancel();
    this.#quietMs = Math.min(quietMs, LONGEST_QUIET_MS);
    const before = this.#options.movedBytes();
    this.#timer = this.#after(this.#quietMs, () => {
      this.#timer = undefined;
      if (!this.#givenUp && !this.#options.callsWait()) return;
      if (before === undefined) this.#arm(FIRST_QUIET_MS);
      else if (this.#hasMoved(before)) this.#arm(this.#quietMs * 2);
      else void this.#ask(before);
    });
  }

  async #ask(before: MovedBytes): Promise<void> {
    this.#asking = true;
    const callsBefore = this.#calls;
    this.#givenUp = false;
    const { written } = this.#options.movedBytes() ?? before;
    const endKnock = this.#options.knock();
    const isSilent = (): boolean => !this.#isClosed() && !this.#hasMoved(before);
    const isMute = (): boolean => this.#options.movedBytes()?.written === written;
    const grace = (): Promise<void> => new Promise((resolve) => void this.#after(GRACE_MS, resolve));
    let deaf = false;
    await grace();
    if (isSilent() && (await this.#options.knockElsewhere())) {
      await grace();
      for (let waitedMs = GRACE_MS; waitedMs < STARVED_GRACE_MS; waitedMs += GRACE_MS) {
        if (isMute() || !isSilent()) break;
        await grace();
      }
      deaf = isSilent();
    }
    const mute = isMute();
    endKnock();
    this.#asking = false;
    if (this.#isClosed()) return;
    if (deaf) this.#options.onDeaf({ connection: before.connection, written, mute });
    // The question was about what was sent before: a call since then is not to wait for a long period's end.
    this.#arm(this.#calls > callsBefore ? FIRST_QUIET_MS : this.#quietMs * 2);
  }

  #hasMoved({ connection, read }: MovedBytes): boolean {
    const now = this.#options.movedBytes();
    return now?.connection !== connection || now.read !== read;
  }

  // Read through a function: it changes while a method waits.
  #isClosed(): boolean {
    return this.#closed;
  }

  #after(delayMs: number, onExpired: () => void): ClockTimer {
    return startFairDeadline({ clock: this.#options.clock, deadlineMs: delayMs, onExpired, unref: true });
  }
}
