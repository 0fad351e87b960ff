import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { WebSocket } from 'ws';
import { toBuffer } from '#base/wire/to-buffer.js';
import { Inlet } from '#base/wire/spdy/inlet.js';
import { type AgentClient } from '../api/agent-client.js';
import { type CommandConnection, readOutcome, type StreamChoice } from './command-connection.js';

/** The value of Sec-WebSocket-Protocol: the first protocol that can signal the end of standard input. */
const WEBSOCKET_COMMAND_PROTOCOL = 'v5.channel.k8s.io';

const Channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const NORMAL = 1000;
/** The largest message that is sent. */
const MESSAGE_BYTES = 32 * 1024;

/** A WebSocket that speaks it, or the answer of a server that does not. */
export type WebSocketAnswer =
  { readonly socket: WebSocket } | { readonly refused: string; readonly code: number };

/** How a WebSocket is asked for. */
export interface WebSocketOptions {
  /** Ends the connection, at any time. */
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks an agent for a WebSocket. Rejects when it cannot be reached. */
export function openWebSocket(
  { socketPath, remote }: Pick<AgentClient, 'socketPath' | 'remote'>,
  path: string,
  { signal, headers = {} }: WebSocketOptions,
): Promise<WebSocketAnswer> {
  const origin = remote === undefined ? 'ws://podloop' : `wss://${remote.url.host}`;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${origin}${path}`, [WEBSOCKET_COMMAND_PROTOCOL], {
      ...(remote === undefined ? { createConnection: () => connect(socketPath) } : remote.tls),
      perMessageDeflate: false,
      headers: { ...headers, ...remote?.headers },
    });
    const onAbort = (): void => socket.terminate();
    signal.addEventListener('abort', onAbort, { once: true });
    // Paused before the first message can have come.
    socket.once('open', () => {
      socket.pause();
      resolve({ socket });
    });
    socket.once('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ refused: Buffer.concat(chunks).toString(), code: response.statusCode ?? 0 });
      });
      response.on('error', reject);
    });
    socket.on('error', (error) => reject(error));
    socket.once('close', () => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  });
}

/** The streams of a command on a WebSocket that has just been opened and is paused. */
export function openWebSocketCommand(socket: WebSocket, choice: StreamChoice): CommandConnection {
  const inlets = new Map<number, Inlet>();
  const listener = {
    onFull: () => socket.pause(),
    onRoom: () => {
      if (![...inlets.values()].some(({ isFull }) => isFull)) socket.resume();
    },
  };
  const openInlet = (channel: number): Inlet => {
    const inlet = new Inlet(listener);
    inlets.set(channel, inlet);
    return inlet;
  };
  const stdout = choice.stdout ? openInlet(Channel.stdout) : undefined;
  const stderr = choice.stderr && !choice.tty ? openInlet(Channel.stderr) : undefined;
  const outcome = new Promise<ReturnType<typeof readOutcome>>((resolve) => {
    let told = '';
    const finish = (): void => {
      // The protocol has no word for the end of an output: it is said how the command ended, behind all of it.
      for (const inlet of inlets.values()) inlet.deliverEnd();
      resolve(readOutcome(told));
    };
    socket.on('message', (data) => {
      const message = toBuffer(data);
      const [channel] = message;
      if (channel !== Channel.error) inlets.get(channel ?? -1)?.deliver(message.subarray(1));
      else told += message.toString('utf8', 1);
      // Not to wait for the connection's end, which may be long in coming.
      if (channel === Channel.error && isWhole(told)) finish();
    });
    socket.once('close', finish);
  });
  socket.resume();
  return {
    stdin: choice.stdin ? openInput(socket) : undefined,
    ...{ stdout, stderr, outcome },
    resize: ({ columns, rows }) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(frame(Channel.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))));
    },
    destroy: () => socket.terminate(),
  };
}

function openInput(socket: WebSocket): Writable {
  const input = new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      if (chunk.length === 0) callback();
      for (let at = 0; at < chunk.length; at += MESSAGE_BYTES) {
        const isLast = at + MESSAGE_BYTES >= chunk.length;
        socket.send(frame(Channel.stdin, chunk.subarray(at, at + MESSAGE_BYTES)), (error) => {
          if (isLast) callback(error);
        });
      }
    },
    final: (callback) => {
      socket.send(Buffer.of(Channel.close, Channel.stdin), () => callback());
    },
  });
  input.on('error', () => undefined);
  socket.once('close', (code) =>
    input.destroy(code === NORMAL ? undefined : new Error('the connection is closed')),
  );
  return input;
}

/** Whether a status has come whole. */
function isWhole(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

function frame(channel: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.of(channel), data]);
}
