/**
 * Finds a connection that no longer receives anything although its server is well.
 *
 * Node's HTTP/2 causes this itself. Its header decoder takes no value above 64 KiB, a constant of nghttp2
 * that no setting changes, and gRPC puts the text of an error into a header. When a longer text comes, the
 * session sends the server a GOAWAY (COMPRESSION_ERROR), then stops reading and writing its socket. There is
 * no event on the stream, the session or the socket; not even the end of the socket is noticed (seen with
 * Node 20.20). Every call on the connection then waits for its deadline, later ones too.
 *
 * In: that a call was sent, and how many bytes the socket has moved. Out: one report per deaf connection.
 * Silence alone proves nothing: the runtime may take its time over a call, or be stopped. So, when calls wait
 * and no byte has come for a while, this module sends a call that any gRPC server answers by itself. If that
 * brings no byte, it sends the same on a second connection. The first one is deaf only if the second one is
 * answered and the first one stays silent. A stopped runtime answers neither, and one that works on a long
 * call answers both. A runtime that gets hardly any CPU, as when hundreds of containers die at once, may
 * answer the second one long before the first, so a connection that still sends gets more time. One case is
 * not distinguished: a server that allows few calls at a time on one connection and has that many hanging.
 * The runtimes set no such limit.
 *
 * @module
 */
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';

/** The bytes that one connection has moved so far. */
export interface MovedBytes {
  /** Compared by identity: a different object is a different connection. */
  readonly connection: object;
  readonly read: number;
  readonly written: number;
}

/** A connection that was found to be deaf. */
export interface DeafConnection {
  readonly connection: object;
  /** Bytes it had written when it went silent; a call started at or after this point was never sent. */
  readonly written: number;
  /**
   * It does not send either: its own HTTP/2 session gave up, so neither the network nor the server is at
   * fault.
   */
  readonly mute: boolean;
}

/** The ports of a {@link DeafConnectionWatch}. */
export interface DeafConnectionWatchOptions {
  readonly clock: Clock;
  /** Undefined while there is no connection. */
  readonly movedBytes: () => MovedBytes | undefined;
  /** Whether any call waits for its answer. */
  readonly callsWait: () => boolean;
  /**
   * Sends a call that every server answers, on the watched connection. Returns a function that cancels it.
   */
  readonly knock: () => () => void;
  /**
   * Sends the same call on a second connection: true if it was answered. Never rejects, settles within a
   * bounded time.
   */
  readonly knockElsewhere: () => Promise<boolean>;
  readonly onDeaf: (found: DeafConnection) => void;
}

// Most calls are answered in a few milliseconds, so silence for this long justifies a check. A check costs
// the server about as much as a call of an unknown method, which is negligible at this rate.
const FIRST_QUIET_MS = 500;
const MAX_QUIET_MS = 30_000;
// How long a healthy server may take for a call that it answers by itself, and how much later than on the
// second connection its answer may come on the watched one.
const GRACE_MS = 250;
// The same for a connection that still sends. Replacing one loses its stream of events, so deaths would be
// noticed later.
const STARVED_GRACE_MS = 15_000;

/** See the module's comment. A call sets the timer; it is not set again once no call waits. */
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

  /** Notes that a call is about to be sent. */
  noteCall(): void {
    this.#calls++;
    if (this.#closed || this.#asking) return;
    if (this.#timer === undefined || this.#quietMs > FIRST_QUIET_MS) this.#arm(FIRST_QUIET_MS);
  }

  /**
   * Notes a call that was cancelled before its answer came: its caller may be one that never waits for long.
   */
  noteGivenUp(): void {
    this.#givenUp = true;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(quietMs: number): void {
    this.#timer?.cancel();
    this.#quietMs = Math.min(quietMs, MAX_QUIET_MS);
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
    // The check covered what was sent before it: a call made since then must not wait for the end of a long
    // period.
    this.#arm(this.#calls > callsBefore ? FIRST_QUIET_MS : this.#quietMs * 2);
  }

  #hasMoved({ connection, read }: MovedBytes): boolean {
    const now = this.#options.movedBytes();
    return now?.connection !== connection || now.read !== read;
  }

  // Read through a function, as it changes while a method awaits.
  #isClosed(): boolean {
    return this.#closed;
  }

  #after(delayMs: number, onExpired: () => void): ClockTimer {
    return startFairDeadline({ clock: this.#options.clock, deadlineMs: delayMs, onExpired, unref: true });
  }
}
