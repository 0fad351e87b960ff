import { Writable } from 'node:stream';
import { InboundStream } from '../sessions/inbound-stream.js';
import { INITIAL_WINDOW_BYTES, ResetStatus, type SpdyHeaders } from '#base/wire/spdy/spdy-frame.js';

/** What a stream asks of its connection. */
export interface SpdyLink {
  sendReply(stream: SpdyStream): void;
  /** Calls back once the connection has taken the data. */
  sendData(stream: SpdyStream, data: Buffer, callback: (error?: Error | null) => void): void;
  sendEnd(stream: SpdyStream, callback: () => void): void;
  sendReset(stream: SpdyStream, status: number): void;
  /** Bytes that came on the stream wait to be read, or do so no more; see InboundCount. */
  take(cost: number): void;
  release(stream: SpdyStream, cost: number, bytes: number): void;
}

/** What a {@link SpdyStream} is made of. */
export interface SpdyStreamOptions {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly link: SpdyLink;
  /** The client has said with the stream's first frame that it will send nothing. */
  readonly remoteEnded: boolean;
  /** It has said that it will read nothing. */
  readonly localEnded: boolean;
}

/**
 * A stream that a client has opened: a readable and a writable half that end independently.
 *
 * ```
 *   new ──accept──► open ──both directions ended──► closed
 *    └──refuse──────► closed ◄──reset by either side──┘
 * ```
 */
export class SpdyStream {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** What the client sends; closed without an end after a reset. */
  readonly inbound: InboundStream;
  /** What is sent to the client; closed after a reset. */
  readonly outbound: Writable;
  /** How much may be sent, for clients that count it; may be negative. */
  sendWindow = INITIAL_WINDOW_BYTES;
  /** How much was read and not yet granted to the client again. */
  unacknowledged = 0;
  readonly #link: SpdyLink;
  #replied = false;
  #remoteEnded: boolean;
  #localEnded: boolean;
  #reset = false;

  constructor({ id, headers, link, remoteEnded, localEnded }: SpdyStreamOptions) {
    this.id = id;
    this.headers = headers;
    this.#link = link;
    this.#remoteEnded = remoteEnded;
    this.#localEnded = localEnded;
    this.inbound = new InboundStream({
      take: (cost) => link.take(cost),
      release: (cost, bytes) => link.release(this, cost, bytes),
    });
    this.outbound = new Writable({
      // One chunk in flight for each stream: what is slowed down is the source.
      highWaterMark: 1,
      write: (chunk: Buffer, _encoding, callback) => link.sendData(this, chunk, callback),
      final: (callback) => this.#sendEnd(callback),
      destroy: (error, callback) => {
        // Also called once it has ended in peace, when the other direction goes on.
        if (!this.#localEnded) this.reset(ResetStatus.cancel);
        callback(error);
      },
    });
    this.inbound.on('error', () => undefined);
    this.outbound.on('error', () => undefined);
    if (remoteEnded) this.inbound.deliverEnd();
  }

  get closed(): boolean {
    return this.#reset || (this.#remoteEnded && this.#localEnded);
  }

  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  /** Whether the client may still send something. */
  get mayReceive(): boolean {
    return !this.#remoteEnded && !this.closed;
  }

  /** Whether anything may still be sent. */
  get writable(): boolean {
    return !this.#reset && !this.#localEnded;
  }

  /** Tells the client that its stream is welcome. Nothing can be sent before. */
  accept(): void {
    if (this.#replied || this.#reset) return;
    this.#replied = true;
    this.#link.sendReply(this);
  }

  /** Tells the client that nobody wants this stream. */
  refuse(): void {
    this.reset(ResetStatus.refusedStream);
  }

  /** Ends both directions at once, and sends a reset unless its own side has already ended. */
  reset(status: number): void {
    if (this.#reset) return;
    const silent = this.closed || this.#localEnded;
    this.#reset = true;
    if (!silent) this.#link.sendReset(this, status);
    this.#destroy();
  }

  /** The client sent this. */
  receive(data: Buffer, end: boolean): void {
    if (this.#remoteEnded || this.#reset) return;
    this.inbound.deliver(data);
    if (!end) return;
    this.#remoteEnded = true;
    this.inbound.deliverEnd();
  }

  /** The client has reset it, or its connection is gone. */
  abandon(): void {
    this.#reset = true;
    this.#destroy();
  }

  #sendEnd(callback: () => void): void {
    if (!this.writable) {
      callback();
      return;
    }
    this.#localEnded = true;
    this.#link.sendEnd(this, callback);
  }

  #destroy(): void {
    this.inbound.destroy();
    this.outbound.destroy();
  }
}
