import { request } from 'node:http';
import { type Duplex } from 'node:stream';
import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib';
import { makeHeaderDictionary } from '#base/wire/spdy/header-dictionary.js';

/** What became of a stream, as its client sees it. */
export class SpdyClientStream {
  readonly id: number;
  /** Everything that came, in order. */
  data = Buffer.alloc(0);
  /** Resolves when the server accepts the stream; rejects when it refuses it. */
  readonly replied: Promise<void>;
  /** Resolves with everything that came, when nothing more comes; rejects when it is reset. */
  readonly ended: Promise<Buffer>;
  readonly settle: { reply(): void; end(): void; fail(error: Error): void };
  readonly #client: SpdyClient;

  constructor(id: number, client: SpdyClient) {
    this.id = id;
    this.#client = client;
    let reply!: () => void;
    let end!: () => void;
    const failures: ((error: Error) => void)[] = [];
    this.replied = new Promise((resolve, reject) => {
      reply = resolve;
      failures.push(reject);
    });
    this.ended = new Promise((resolve, reject) => {
      end = () => resolve(this.data);
      failures.push(reject);
    });
    // A test that looks at neither is no failure.
    this.replied.catch(() => undefined);
    this.ended.catch(() => undefined);
    this.settle = { reply, end, fail: (error) => failures.forEach((reject) => reject(error)) };
  }

  write(data: string | Buffer): void {
    this.#client.sendData(this.id, Buffer.from(data), false);
  }

  end(): void {
    this.#client.sendData(this.id, Buffer.alloc(0), true);
  }

  reset(): void {
    this.#client.sendFrame(3, words(this.id, 5));
  }
}

/**
 * A SPDY/3.1 client for tests, written apart from the server so that a mistake cannot hide in both.
 *
 * It compresses headers with zlib and reads the server's with zlib, as real clients do.
 */
export class SpdyClient {
  readonly socket: Duplex;
  /** The subprotocol that the server chose. */
  readonly protocol: string;
  readonly streams = new Map<number, SpdyClientStream>();
  /** The numbers of answered pings, and what was granted, by stream. */
  readonly pongs: number[] = [];
  readonly granted = new Map<number, number>();
  /** The status of the server's GOAWAY. */
  goAway: number | undefined;
  readonly closed: Promise<void>;
  /** Header blocks of the server that zlib has decompressed. */
  readonly replyBlocks: Buffer[] = [];
  readonly #deflate: Deflate;
  readonly #inflate: Inflate;
  #rest = Buffer.alloc(0);
  #nextStream = 1;
  #opening: Promise<unknown> = Promise.resolve();

  constructor(socket: Duplex, protocol = '') {
    this.socket = socket;
    this.protocol = protocol;
    const dictionary = makeHeaderDictionary();
    this.#deflate = createDeflate({ level: 9, dictionary });
    this.#inflate = createInflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
    this.#inflate.on('data', (block: Buffer) => this.replyBlocks.push(block));
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => undefined);
    void this.closed.then(() => {
      const error = new Error('the connection is closed');
      for (const stream of this.streams.values()) stream.settle.fail(error);
    });
  }

  /** Comes for a grant, as client-go does: POST, Upgrade, the versions that it knows. */
  static connect(url: string, ...protocols: string[]): Promise<SpdyClient> {
    return new Promise((resolve, reject) => {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'SPDY/3.1',
        ...(protocols.length > 0 && { 'X-Stream-Protocol-Version': protocols }),
      };
      const call = request(url, { method: 'POST', headers });
      call.once('error', reject);
      call.once('response', (response) => {
        response.resume();
        const accepted = response.headers['x-accepted-stream-protocol-versions'] ?? '';
        reject(new Error(`${response.statusCode ?? 0} ${String(accepted)}`.trim()));
      });
      call.once('upgrade', (response, socket, head) => {
        if (head.length > 0) socket.unshift(head);
        resolve(new SpdyClient(socket, String(response.headers['x-stream-protocol-version'])));
      });
      call.end();
    });
  }

  /** Opens a stream with these headers; the compression of one builds on that of the one before. */
  async open(headers: Readonly<Record<string, string>>, flags = 0): Promise<SpdyClientStream> {
    const stream = new SpdyClientStream(this.#nextStream, this);
    this.#nextStream += 2;
    this.streams.set(stream.id, stream);
    const opening = this.#opening.then(async () => {
      const block = await this.compress(headers);
      this.sendFrame(1, Buffer.concat([words(stream.id, 0), Buffer.alloc(2), block]), flags);
    });
    this.#opening = opening;
    await opening;
    return stream;
  }

  compress(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const parts = [words(Object.keys(headers).length)];
    for (const text of Object.entries(headers).flat()) parts.push(words(text.length), Buffer.from(text));
    const zlib = this.#deflate;
    return new Promise((resolve) => {
      zlib.write(Buffer.concat(parts));
      zlib.flush(constants.Z_SYNC_FLUSH, () => resolve(zlib.read() as Buffer));
    });
  }

  sendFrame(type: number, payload: Buffer, flags = 0): void {
    this.socket.write(
      Buffer.concat([words(0x80_03_00_00 + type, flags * 2 ** 24 + payload.length), payload]),
    );
  }

  sendData(stream: number, data: Buffer, end: boolean): void {
    this.socket.write(Buffer.concat([words(stream, (end ? 2 ** 24 : 0) + data.length), data]));
  }

  #receive(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 8) {
      const length = this.#rest.readUIntBE(5, 3);
      if (this.#rest.length < 8 + length) return;
      const head = this.#rest.subarray(0, 8);
      const payload = this.#rest.subarray(8, 8 + length);
      this.#rest = this.#rest.subarray(8 + length);
      if (head[0]! < 0x80) this.#receiveData(head.readUInt32BE(0), payload, head[4] === 1);
      else this.#receiveControl(head.readUInt16BE(2), payload);
    }
  }

  #receiveData(id: number, payload: Buffer, end: boolean): void {
    const stream = this.streams.get(id)!;
    stream.data = Buffer.concat([stream.data, payload]);
    if (end) stream.settle.end();
  }

  #receiveControl(type: number, payload: Buffer): void {
    const first = payload.readUInt32BE(0);
    if (type === 2) {
      this.#inflate.write(payload.subarray(4));
      this.streams.get(first)?.settle.reply();
    } else if (type === 3) {
      this.streams.get(first)?.settle.fail(new Error(`reset with status ${payload.readUInt32BE(4)}`));
    } else if (type === 6) {
      this.pongs.push(first);
    } else if (type === 7) {
      this.goAway = payload.readUInt32BE(4);
    } else if (type === 9) {
      this.granted.set(first, (this.granted.get(first) ?? 0) + payload.readUInt32BE(4));
    }
  }
}

function words(...values: number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) buffer.writeUInt32BE(value, 4 * at);
  return buffer;
}
