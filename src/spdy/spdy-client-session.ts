import { type Duplex, Writable } from 'node:stream';
import { encodeDataHead, encodePing, encodeRstStream, encodeSynStream } from './encode-frame.js';
import { FrameReader } from './frame-reader.js';
import { flushWrites, gatherWrites } from './gather-writes.js';
import { encodeHeaderBlock } from './header-block.js';
import { HeaderDeflater } from './header-deflater.js';
import { Inlet } from './inlet.js';
import { FLAG_FIN, ResetStatus, type SpdyFrame } from './spdy-frame.js';

/** A stream that the client has opened: both directions end on their own. */
export interface SpdyClientStream {
  /** What the server sends; fails when it resets the stream or the connection breaks. */
  readonly inbound: Inlet;
  /** What is sent to the server; `end()` ends this direction alone. */
  readonly outbound: Writable;
}

interface OpenStream extends SpdyClientStream {
  /** Whether the server has taken it. */
  isTaken: boolean;
}

/** The largest data frame that is sent. */
const FRAME_BYTES = 32 * 1024;

/**
 * The client's side of a SPDY/3.1 connection as Kubernetes uses it: the client opens streams.
 *
 * Neither side counts windows, as those who speak it (spdystream) do not: who is slow slows the connection down as a
 * whole. A connection is therefore for streams that belong together.
 */
export class SpdyClientSession {
  readonly #socket: Duplex;
  readonly #reader = new FrameReader();
  readonly #deflater = new HeaderDeflater();
  readonly #streams = new Map<number, OpenStream>();
  readonly #closed: Promise<void>;
  #nextId = 1;

  /** @param socket the connection, right behind the answer that agreed. */
  constructor(socket: Duplex) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.#end(new Error('the connection was ended')));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the connection was closed')));
  }

  /** Resolves once the connection is closed, by whomever. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** Opens a stream; what the server thinks of it shows on its inbound side. */
  open(headers: Readonly<Record<string, string>>): SpdyClientStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const block = this.#deflater.deflate(encodeHeaderBlock(new Map(Object.entries(headers))));
    gatherWrites(this.#socket);
    this.#socket.write(encodeSynStream(id, block));
    const listener = { onFull: () => this.#socket.pause(), onRoom: () => this.#resume() };
    const ends = { inbound: new Inlet(listener), outbound: this.#openOutbound(id) };
    const stream: OpenStream = { ...ends, isTaken: false };
    this.#streams.set(id, stream);
    return stream;
  }

  /** Ends the connection behind what was written. */
  close(): void {
    this.#socket.end();
    this.#end(new Error('the connection is closed'));
    this.#socket.resume();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #openOutbound(id: number): Writable {
    const outbound = new Writable({
      write: (chunk: Buffer, _encoding, callback) => this.#sendData(id, chunk, callback),
      final: (callback) => {
        gatherWrites(this.#socket);
        this.#socket.write(encodeDataHead(id, 0, true));
        callback();
      },
      destroy: (error, callback) => {
        if (error !== null && !this.#socket.destroyed)
          this.#socket.write(encodeRstStream(id, ResetStatus.cancel));
        callback(error);
      },
    });
    outbound.on('error', () => undefined);
    return outbound;
  }

  #sendData(id: number, data: Buffer, callback: (error?: Error | null) => void): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) {
      callback(new Error('the connection is closed'));
      return;
    }
    if (data.length === 0) {
      callback();
      return;
    }
    this.#socket.cork();
    for (let at = 0; at < data.length; at += FRAME_BYTES) {
      const part = data.subarray(at, at + FRAME_BYTES);
      this.#socket.write(encodeDataHead(id, part.length, false));
      // The last is called back once the connection has taken all: a server that is slow slows the source down.
      this.#socket.write(part, at + FRAME_BYTES >= data.length ? callback : undefined);
    }
    flushWrites(this.#socket);
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
        // Of the headers nothing is used, and so their compression needs not be followed.
        if ((frame.flags & FLAG_FIN) !== 0) this.#deliver(frame.stream, Buffer.alloc(0), true);
        return;
      }
      case 'rst-stream':
        this.#reset(frame.stream, frame.status);
        return;
      case 'ping':
        // Odd numbers are ours, come back.
        if (frame.id % 2 === 0) this.#socket.write(encodePing(frame.id));
        return;
      default:
    }
  }

  #deliver(id: number, payload: Buffer, fin: boolean): void {
    const stream = this.#streams.get(id);
    stream?.inbound.deliver(payload);
    if (!fin) return;
    stream?.inbound.deliverEnd();
    if (stream?.outbound.writableFinished === true) this.#streams.delete(id);
  }

  /** Go's servers reset streams that are over: what came before is all there was. */
  #reset(id: number, status: number): void {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    if (stream?.isTaken === true) stream.inbound.deliverEnd();
    else stream?.inbound.destroy(new Error(`the stream was refused with status ${status}`));
    stream?.outbound.destroy();
  }

  #resume(): void {
    const anyFull = [...this.#streams.values()].some(({ inbound }) => inbound.isFull);
    if (!anyFull) this.#socket.resume();
  }

  #end(error: Error): void {
    for (const { inbound, outbound } of this.#streams.values()) {
      // What has come whole may still be read.
      if (!inbound.isComplete) inbound.destroy(error);
      outbound.destroy();
    }
    this.#streams.clear();
  }
}
