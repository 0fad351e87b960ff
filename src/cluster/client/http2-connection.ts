import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type Settings,
} from 'node:http2';
import { type Socket } from 'node:net';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { type Answer, NotSentError, type Outgoing } from './http-transport.js';

/** As client-go: a server that has said nothing for so long is asked whether it is there. */
const PING_EVERY_MS = 30_000;
const MAX_PING_MS = 15_000;
/** Node's 64 KiB for all streams together would have one list stop all watches. */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
/** Of a server that does not say how many it takes. */
const USUAL_STREAMS = 100;

/** What a {@link Http2Connection} needs. */
export interface Http2ConnectionOptions {
  /** Connected, and the server speaks HTTP/2. */
  readonly socket: Socket;
  /** As in `https://host:port`. */
  readonly origin: string;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** One connection for many requests and watches at once. A server that does not answer to pings is given up. */
export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #clock: Pick<Clock, 'setTimer'>;
  #ping: ClockTimer | undefined;
  #open = 0;
  #mostStreams = USUAL_STREAMS;
  #isRetired = false;
  #why: Error | undefined;

  constructor({ socket, origin, clock }: Http2ConnectionOptions) {
    this.#clock = clock;
    this.#session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    this.#session.once('connect', () => this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    this.#session.on('remoteSettings', ({ maxConcurrentStreams }: Settings) => {
      this.#mostStreams = maxConcurrentStreams ?? USUAL_STREAMS;
    });
    this.#session.on('error', (error: Error) => {
      this.#why ??= error;
    });
    this.#session.once('goaway', () => (this.#isRetired = true));
    this.#session.once('close', () => this.#ping?.cancel());
    this.#armPing();
  }

  /** Resolves once the server has said how many requests it takes; rejects with what broke before that. */
  async ready(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      const late = this.#clock.setTimer(MAX_PING_MS, () =>
        this.destroy(new Error('the server says nothing')),
      );
      this.#session.once('remoteSettings', () => resolve());
      this.#session.once('close', () => reject(this.#why ?? new Error('the connection broke')));
      const settled = (): void => late.cancel();
      this.#session.once('remoteSettings', settled).once('close', settled);
    });
    return this;
  }

  /** It takes another request. */
  get hasRoom(): boolean {
    const { closed, destroyed } = this.#session;
    return !closed && !destroyed && !this.#isRetired && this.#open < this.#mostStreams;
  }

  get isClosed(): boolean {
    return this.#session.destroyed;
  }

  /** Sends a request. Rejects with the signal's reason, with {@link NotSentError}, or with what broke. */
  async send({ method, path, headers, body }: Outgoing, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    let stream: ClientHttp2Stream;
    try {
      const all = { ...headers, ':method': method, ':path': path } as IncomingHttpHeaders;
      stream = this.#session.request(all, { endStream: body === undefined });
    } catch (error) {
      // It has just ended.
      throw new NotSentError(`the connection is closed`, { cause: error });
    }
    this.#open++;
    const onAbort = (): void => {
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    stream.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      this.#open--;
      if (this.#isRetired && this.#open === 0) this.#session.close();
    });
    if (body !== undefined) stream.end(body);
    return await new Promise((resolve, reject) => {
      const onError = (error: Error): void => reject(this.#explain(stream, error));
      const onClose = (): void => reject(this.#explain(stream, new Error('the connection broke')));
      stream.once('error', onError);
      stream.once('close', onClose);
      stream.once('response', ({ ':status': status, ...rest }) => {
        stream.removeListener('close', onClose);
        stream.removeListener('error', onError);
        // Whoever reads hears of it; without a reader it must not end the process.
        stream.on('error', () => undefined);
        // Node ends a stream without an error when the socket below it is closed.
        const findBreak = (): Error | undefined => {
          const isWhole = !stream.aborted && stream.rstCode === constants.NGHTTP2_NO_ERROR;
          return isWhole ? undefined : (this.#why ?? new Error('the connection broke'));
        };
        resolve({ status: status ?? 0, headers: rest, body: stream, findBreak });
      });
    });
  }

  /** Takes nothing new, and ends when what goes on has ended. */
  retire(): void {
    this.#isRetired = true;
    if (this.#open === 0) this.#session.close();
  }

  /** Breaks it, and what goes on. */
  destroy(why: Error): void {
    this.#why ??= why;
    this.#session.destroy(why);
  }

  #explain(stream: ClientHttp2Stream, error: Error): Error {
    // Refused, or above the last stream that a server on its way out takes: not begun with.
    if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) {
      return new NotSentError('the server has not taken the request', { cause: error });
    }
    return this.#why ?? error;
  }

  #armPing(): void {
    this.#ping = this.#clock.setTimer(PING_EVERY_MS, () => this.#askWhetherAlive(), { unref: true });
  }

  #askWhetherAlive(): void {
    if (this.#session.destroyed) return;
    const late = this.#clock.setTimer(
      MAX_PING_MS,
      () => this.destroy(new Error(`no answer to a ping within ${MAX_PING_MS / 1_000}s`)),
      { unref: true },
    );
    const onAnswer = (): void => {
      late.cancel();
      if (!this.#session.destroyed) this.#armPing();
    };
    // False when too many are under way already, which cannot be; an error when it is just ending.
    if (!this.#session.ping(onAnswer)) onAnswer();
  }
}
