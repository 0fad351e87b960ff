import { setMaxListeners } from 'node:events';
import { Writable, type Readable } from 'node:stream';
import { type WebSocket } from 'ws';
import { toBuffer } from '#base/wire/to-buffer.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { IdleTimer } from '../idle-timer.js';
import { InboundStream } from './inbound-stream.js';
import { ReadAhead } from './read-ahead.js';

/** What a {@link WebSocketChannels} needs. */
export interface WebSocketChannelsOptions {
  readonly socket: WebSocket;
  /** Text messages whose first character is the channel's digit and whose rest is base64. */
  readonly base64: boolean;
  /** Whether `[255, channel]` ends a channel, as from version 5 on. */
  readonly halfClose: boolean;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

const CLOSE_CHANNEL = 255;
const DIGIT_ZERO = 0x30;
/** What the first byte of a message can name; of text, the first character that is one byte. */
export const MAX_CHANNELS = { binary: CLOSE_CHANNEL, base64: 0x80 - DIGIT_ZERO } as const;
/** So much of one connection waits for slow readers before the connection is not read any more. */
const READ_AHEAD_BYTES = 1024 * 1024;
/**
 * How often a pong is sent unasked. It shows a client that died, even when its messages are not read, and keeps
 * client-go content, which counts pongs (its limit is 61 s) and whose pings lie behind what is not read.
 */
const HEARTBEAT_MS = 5_000;
const NORMAL = 1000;
const PROTOCOL_ERROR = 1002;

/**
 * The channels of Kubernetes' WebSocket protocols (`channel.k8s.io` and its kin): each message belongs to the channel
 * that its first byte names.
 */
export class WebSocketChannels {
  readonly #options: WebSocketChannelsOptions;
  readonly #inbound = new Map<number, InboundStream>();
  readonly #gone = new AbortController();
  readonly #idle: IdleTimer;
  readonly #readAhead: ReadAhead;
  #heartbeat: ClockTimer | undefined;

  constructor(options: WebSocketChannelsOptions) {
    this.#options = options;
    const { socket, clock, idleTimeoutMs } = options;
    // A listener for each channel is no leak.
    setMaxListeners(0, this.#gone.signal);
    this.#idle = new IdleTimer({ clock, timeoutMs: idleTimeoutMs, onIdle: () => socket.terminate() });
    this.#readAhead = new ReadAhead({
      limitBytes: READ_AHEAD_BYTES,
      onFull: () => socket.pause(),
      onRoom: () => socket.resume(),
    });
    socket.on('message', (data) => this.#receive(toBuffer(data)));
    // A broken connection is closed by ws itself; a protocol error was answered by it.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#end());
    this.#planHeartbeat();
  }

  /** Aborts when the connection is closed, by whomever. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** What the client sends on that channel. To be called for each one before anything can have been received. */
  openInbound(channel: number): Readable {
    const stream = new InboundStream(this.#readAhead);
    stream.on('error', () => undefined);
    this.#inbound.set(channel, stream);
    return stream;
  }

  /** Sends on that channel; its end is not sent, since the protocols have no message for it. */
  openOutbound(channel: number): Writable {
    const stream = new Writable({
      // One message in flight for each channel: the pipe behind it is what is slowed down.
      highWaterMark: 1,
      write: (chunk: Buffer, _encoding, callback) => this.#send(channel, chunk, callback),
    });
    stream.on('error', () => undefined);
    this.gone.addEventListener('abort', () => stream.destroy(), { once: true });
    return stream;
  }

  /** Sends one message, an empty one too, without waiting. */
  send(channel: number, data: Buffer): void {
    this.#send(channel, data, () => undefined);
  }

  /** Closes the connection behind everything that was sent, and resolves once it is closed. */
  async close(): Promise<void> {
    const { socket } = this.#options;
    for (const stream of this.#inbound.values()) stream.destroy();
    if (this.gone.aborted) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.close(NORMAL);
    await closed;
  }

  #receive(message: Buffer): void {
    this.#idle.touch();
    if (message.length === 0) return;
    const { base64, halfClose, socket } = this.#options;
    const first = message[0]!;
    if (halfClose && first === CLOSE_CHANNEL) {
      const stream = message.length === 2 ? this.#inbound.get(message[1]!) : undefined;
      if (message.length !== 2) socket.close(PROTOCOL_ERROR, 'a close names one channel');
      stream?.deliverEnd();
      return;
    }
    const stream = this.#inbound.get(base64 ? first - DIGIT_ZERO : first);
    // Channels that nobody has opened are passed over, as by the kubelet.
    if (stream === undefined) return;
    const data = message.subarray(1);
    stream.deliver(base64 ? Buffer.from(data.toString('latin1'), 'base64') : data);
  }

  #send(channel: number, data: Buffer, callback: (error?: Error | null) => void): void {
    const { socket, base64 } = this.#options;
    this.#idle.touch();
    if (base64) {
      const digit = String.fromCharCode(DIGIT_ZERO + channel);
      socket.send(`${digit}${data.toString('base64')}`, { binary: false }, callback);
    } else {
      socket.send(Buffer.concat([Buffer.of(channel), data]), { binary: true }, callback);
    }
  }

  #planHeartbeat(): void {
    const { clock, socket } = this.#options;
    this.#heartbeat = clock.setTimer(
      HEARTBEAT_MS,
      () => {
        if (socket.readyState === socket.OPEN) socket.pong('', undefined, () => undefined);
        this.#planHeartbeat();
      },
      { unref: true },
    );
  }

  #end(): void {
    this.#idle.stop();
    this.#heartbeat?.cancel();
    for (const stream of this.#inbound.values()) stream.destroy();
    this.#gone.abort(new Error('the client is gone'));
  }
}
