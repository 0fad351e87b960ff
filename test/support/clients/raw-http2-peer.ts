import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A frame of HTTP/2 as it is on the wire. */
export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

const FRAME_HEADER_BYTES = 9;

/** The types of frames, by the names of RFC 9113. */
export const RAW_TYPES = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** What a client says first. */
export const RAW_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** A frame as bytes. */
export function toBytes({ type, flags, streamId, payload }: RawFrame): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

/** A frame by the name of its type. */
export function rawFrame(
  type: keyof typeof RAW_TYPES,
  streamId: number,
  payload: Buffer | string = '',
  flags = 0,
): RawFrame {
  return { type: RAW_TYPES[type], flags, streamId, payload: Buffer.from(payload) };
}

/** A number as the payloads of WINDOW_UPDATE and RST_STREAM have it. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** One end of a connection that sends exactly what a test wants, and records what it receives. */
export class RawHttp2Peer {
  readonly socket: Socket;
  readonly frames: RawFrame[] = [];
  /** Everything that came, as it came. */
  received = Buffer.alloc(0);
  ended = false;
  closed = false;
  /** Called with each frame as it comes. */
  onFrame: (frame: RawFrame) => void = () => undefined;
  #rest = Buffer.alloc(0);
  #prefaceLeft: number;

  constructor(socket: Socket, { isServer = false } = {}) {
    this.socket = socket;
    this.#prefaceLeft = isServer ? RAW_PREFACE.length : 0;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => (this.ended = true));
    socket.on('close', () => (this.closed = true));
    socket.on('error', () => undefined);
  }

  /** Connects as a client; says nothing. */
  static async connect(path: string): Promise<RawHttp2Peer> {
    const socket = connect({ path, allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawHttp2Peer(socket);
  }

  send(...frames: readonly (RawFrame | Buffer)[]): void {
    this.socket.write(
      Buffer.concat(frames.map((frame) => (Buffer.isBuffer(frame) ? frame : toBytes(frame)))),
    );
  }

  /** Frames of that type, of that stream when one is given. */
  of(type: keyof typeof RAW_TYPES, streamId?: number): RawFrame[] {
    return this.frames.filter(
      (frame) => frame.type === RAW_TYPES[type] && (streamId === undefined || frame.streamId === streamId),
    );
  }

  #take(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (this.#prefaceLeft > 0) {
      const skipped = Math.min(this.#prefaceLeft, this.#rest.length);
      this.#prefaceLeft -= skipped;
      this.#rest = this.#rest.subarray(skipped);
    }
    while (this.#prefaceLeft === 0 && this.#rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      const frame: RawFrame = {
        type: this.#rest[3]!,
        flags: this.#rest[4]!,
        streamId: this.#rest.readUInt32BE(5) & 0x7fffffff,
        payload: this.#rest.subarray(FRAME_HEADER_BYTES, end),
      };
      this.#rest = this.#rest.subarray(end);
      this.frames.push(frame);
      this.onFrame(frame);
    }
  }
}

/** Listens on a unix socket and hands out a peer for each connection. */
export class RawHttp2Server implements AsyncDisposable {
  readonly peers: RawHttp2Peer[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer({ allowHalfOpen: true }, (socket) =>
      this.peers.push(new RawHttp2Peer(socket, { isServer: true })),
    );
  }

  static async listen(path: string): Promise<RawHttp2Server> {
    const server = new RawHttp2Server();
    server.#server.listen(path);
    await once(server.#server, 'listening');
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const { socket } of this.peers) socket.destroy();
    await closed;
  }
}
