import { type Duplex, Writable } from 'node:stream';
import { encodeDataHead, encodePing, encodeRstStream, encodeSynStream } from './encode-frame.js';
import { FrameReader } from './frame-reader.js';
import { gatherWrites } from './gather-writes.js';
import { encodeHeaderBlock } from './header-block.js';
import { HeaderDeflater } from './header-deflater.js';
import { Inlet } from './inlet.js';
import { type ReceivingStream, ReceiveWindows } from './receive-windows.js';
import { SendWindows, type WindowedStream } from './send-windows.js';
import { FLAG_FIN, INITIAL_WINDOW_BYTES, ResetStatus, SpdyError, type SpdyFrame } from './spdy-frame.js';

/** A stream that the client has opened; its two directions end independently. */
export interface SpdyClientStream {
  /** Data from the server; fails when the server resets the stream or the connection breaks. */
  readonly inbound: Inlet;
  /** Data to the server; `end()` ends only this direction. */
  readonly outbound: Writable;
  /** Ends both directions at once; does nothing if they have ended. */
  reset(): void;
}

/** Options of {@link SpdyClientSession}. */
export interface SpdyClientSessionOptions {
  /**
   * Whether the server has agreed to respect windows (default: no).
   *
   * Then unrelated streams may share the connection, up to SHARED_STREAMS with data: an unread stream does
   * not block the others. Otherwise a slow reader slows down the whole connection.
   */
  readonly serverCounts?: boolean;
}

interface OpenStream extends SpdyClientStream, WindowedStream, ReceivingStream {
  /** Whether the server has accepted it. */
  isTaken: boolean;
  hasSentEnd: boolean;
}

/**
 * The client's side of a SPDY/3.1 connection as Kubernetes uses it: the client opens streams.
 *
 * The server's windows are respected from its first grant on; see {@link SendWindows}. Reads are granted to
 * the server only if it has agreed to count, as other implementations (spdystream) do not.
 */
export class SpdyClientSession {
  readonly #socket: Duplex;
  readonly #reader = new FrameReader();
  readonly #deflater = new HeaderDeflater();
  readonly #streams = new Map<number, OpenStream>();
  readonly #closed: Promise<void>;
  readonly #sendWindows: SendWindows<OpenStream>;
  /** Undefined if the server does not count. */
  readonly #received: ReceiveWindows | undefined;
  #nextId = 1;
  #isOpen = true;

  /** @param socket the connection, right after the answer that accepted the upgrade. */
  constructor(socket: Duplex, { serverCounts = false }: SpdyClientSessionOptions = {}) {
    this.#socket = socket;
    this.#sendWindows = new SendWindows(serverCounts);
    if (serverCounts) {
      this.#received = new ReceiveWindows((frame) => this.#send(frame));
      this.#received.open();
    }
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.#end(new Error('the connection was ended')));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the connection was closed')));
  }

  /** Resolves once either side has closed the connection. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** Whether streams can be opened: neither side has ended the connection. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Opens a stream; its inbound side fails if the server rejects it. */
  open(headers: Readonly<Record<string, string>>): SpdyClientStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const block = this.#deflater.deflate(encodeHeaderBlock(new Map(Object.entries(headers))));
    gatherWrites(this.#socket);
    this.#socket.write(encodeSynStream(id, block));
    const stream: OpenStream = {
      id,
      inbound: new Inlet({
        ...(this.#received === undefined
          ? { onFull: () => this.#socket.pause(), onRoom: () => this.#resume() }
          : {}),
        onTaken: (bytes) => this.#received?.acknowledge(stream, bytes),
      }),
      outbound: this.#openOutbound(() => stream),
      reset: () => this.#reset(stream),
      isTaken: false,
      hasSentEnd: false,
      sendWindow: this.#sendWindows.initial,
      unacknowledged: 0,
      get mayReceive() {
        return !this.inbound.isComplete && !this.inbound.destroyed;
      },
    };
    this.#streams.set(id, stream);
    return stream;
  }

  /** Closes the connection after pending writes. */
  close(): void {
    this.#socket.end();
    this.#end(new Error('the connection is closed'));
    this.#socket.resume();
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #openOutbound(stream: () => OpenStream): Writable {
    const outbound = new Writable({
      write: (chunk: Buffer, _encoding, callback) => this.#sendData(stream(), chunk, callback),
      final: (callback) => {
        this.#sendEnd(stream());
        callback();
      },
      destroy: (error, callback) => {
        if (error !== null) this.#reset(stream());
        callback(error);
      },
    });
    outbound.on('error', () => undefined);
    return outbound;
  }

  #send(frame: Buffer): void {
    if (!this.#socket.writable) return;
    gatherWrites(this.#socket);
    this.#socket.write(frame);
  }

  #sendData(stream: OpenStream, data: Buffer, callback: (error?: Error | null) => void): void {
    if (!this.#socket.writable || !this.#streams.has(stream.id)) {
      callback(new Error('the connection is closed'));
      return;
    }
    if (data.length === 0) {
      callback();
      return;
    }
    const part = this.#sendWindows.take(stream, data, () => this.#sendData(stream, data, callback));
    if (part === undefined) return;
    gatherWrites(this.#socket);
    this.#socket.write(encodeDataHead(stream.id, part.length, false));
    // Called back once the connection has accepted it, so that a slow server slows the source down.
    this.#socket.write(part, (error) => {
      if (error || part.length === data.length) callback(error);
      else this.#sendData(stream, data.subarray(part.length), callback);
    });
  }

  #sendEnd(stream: OpenStream): void {
    stream.hasSentEnd = true;
    this.#send(encodeDataHead(stream.id, 0, true));
    this.#forgetIfOver(stream);
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#handle(frame);
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #handle(frame: SpdyFrame): void {
    switch (frame.type) {
      case 'data':
        this.#deliver(frame.stream, frame.payload, frame.fin);
        return;
      case 'syn-reply':
      case 'headers': {
        const stream = this.#streams.get(frame.stream);
        if (stream !== undefined) stream.isTaken = true;
        // The headers are not used, so their compression need not be followed.
        if ((frame.flags & FLAG_FIN) !== 0) this.#deliver(frame.stream, Buffer.alloc(0), true);
        return;
      }
      case 'rst-stream':
        this.#abandon(frame.stream, frame.status);
        return;
      case 'ping':
        // Odd numbers are answers to our own.
        if (frame.id % 2 === 0) this.#send(encodePing(frame.id));
        return;
      case 'window-update':
        this.#widen(frame.stream, frame.delta);
        return;
      case 'settings':
        this.#sendWindows.setInitial(frame.initialWindow, this.#streams.values());
        return;
      case 'go-away':
        // Open streams continue to their end.
        this.#isOpen = false;
        return;
      default:
    }
  }

  #deliver(id: number, payload: Buffer, fin: boolean): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      this.#received?.acknowledge(undefined, payload.length);
      return;
    }
    stream.inbound.deliver(payload);
    // A server that counts never sends this much; it must not exhaust our memory.
    if (this.#received !== undefined && stream.inbound.readableLength > 2 * INITIAL_WINDOW_BYTES) {
      throw new SpdyError('more data than was granted');
    }
    if (!fin) return;
    stream.inbound.deliverEnd();
    this.#forgetIfOver(stream);
  }

  #widen(id: number, delta: number): void {
    const stream = id === 0 ? undefined : this.#streams.get(id);
    if (id !== 0 && stream === undefined) return;
    if (!this.#sendWindows.widen(stream, delta)) throw new SpdyError('a window beyond all bounds');
  }

  /** Go's servers reset streams that are finished: what came before is complete. */
  #abandon(id: number, status: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#forget(stream);
    if (stream.isTaken) stream.inbound.deliverEnd();
    else stream.inbound.destroy(new Error(`the stream was refused with status ${status}`));
    stream.outbound.destroy();
  }

  #reset(stream: OpenStream): void {
    if (!this.#streams.has(stream.id)) return;
    this.#forget(stream);
    this.#send(encodeRstStream(stream.id, ResetStatus.cancel));
    stream.inbound.destroy();
    stream.outbound.destroy();
  }

  #forgetIfOver(stream: OpenStream): void {
    if (stream.hasSentEnd && stream.inbound.isComplete) this.#forget(stream);
  }

  #forget(stream: OpenStream): void {
    this.#streams.delete(stream.id);
    this.#sendWindows.forget(stream);
  }

  #resume(): void {
    const anyFull = [...this.#streams.values()].some(({ inbound }) => inbound.isFull);
    if (!anyFull) this.#socket.resume();
  }

  #end(error: Error): void {
    this.#isOpen = false;
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const { inbound, outbound } of streams) {
      // A complete stream may still be read.
      if (!inbound.isComplete) inbound.destroy(error);
      if (!outbound.writableFinished) outbound.destroy(error);
    }
    // Blocked streams find the connection closed.
    this.#sendWindows.close();
  }
}
