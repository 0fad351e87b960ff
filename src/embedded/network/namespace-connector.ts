import { spawn } from 'node:child_process';
import { connect, Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { TOOL_PATH } from '../process/find-tools.js';

/** A connection inside a sandbox that did not come about. */
class InsideConnectionError extends Error {
  override readonly name = 'InsideConnectionError';
  /** What the kernel said, `ECONNREFUSED` when nothing listens; `ENETNS` when the namespace cannot be entered. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Whether nothing listens at the port. */
export function isConnectionRefused(error: unknown): boolean {
  return error instanceof InsideConnectionError && error.code === 'ECONNREFUSED';
}

type Answer = { readonly connected: true } | { readonly code: string; readonly message: string };

/**
 * Connects, and hands the socket over: from then on no process stands in between. It reads nothing itself, so
 * that not a byte is lost.
 */
const CONNECT_SCRIPT = String.raw`'use strict';
const net = require('node:net');
const say = (answer, socket) => process.send(answer, socket, { keepOpen: false }, () => process.disconnect());
function attempt(hosts, failure) {
  if (hosts.length === 0) return say({ code: failure.code || 'EUNKNOWN', message: failure.message });
  const socket = new net.Socket({ allowHalfOpen: true });
  socket.pause();
  socket.once('error', (error) => attempt(error.code === 'ECONNREFUSED' ? hosts.slice(1) : [], failure || error));
  socket.connect({ host: hosts[0], port: Number(process.argv[1]) }, () => say({ connected: true }, socket));
}
process.once('disconnect', () => process.exit());
attempt(['127.0.0.1', '::1']);
`;

/**
 * Opens a TCP connection to `port` of the loopback address inside a process's network namespace: 127.0.0.1, or
 * ::1 when nothing listens there.
 *
 * What comes back is a socket of that namespace in this process, with both directions closing on their own: end the
 * writable side to say that nothing more comes. The signal ends the attempt, with its reason, and not the
 * connection. Rejects with {@link InsideConnectionError}. Costs the start of one Node process, some 50 ms; without
 * a `holderPid` it connects in the host's network, which costs nothing.
 */
export async function connectInside(
  holderPid: number | undefined,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  signal.throwIfAborted();
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new InsideConnectionError('EINVAL', `${port} is no port`);
  return holderPid === undefined ? connectHere(port, signal) : connectThere(holderPid, port, signal);
}

function connectThere(holderPid: number, port: number, signal: AbortSignal): Promise<Socket> {
  const argv = [
    `--net=/proc/${holderPid}/ns/net`,
    '--',
    process.execPath,
    '-e',
    CONNECT_SCRIPT,
    String(port),
  ];
  const child = spawn('nsenter', argv, {
    cwd: '/',
    env: { PATH: TOOL_PATH },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => (words = `${words}${chunk.toString()}`.slice(0, 1000)));
  return new Promise<Socket>((resolve, reject) => {
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', onAbort);
      child.kill('SIGKILL');
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    child.once('error', (error) => fail(new InsideConnectionError('ENETNS', error.message)));
    child.once('close', () => fail(new InsideConnectionError('ENETNS', words.trim() || 'the helper ended')));
    child.once('message', (message, socket) => {
      const answer = message as Answer;
      if (!('connected' in answer)) fail(new InsideConnectionError(answer.code, answer.message));
      else if (!(socket instanceof Socket)) fail(new InsideConnectionError('ECONNRESET', 'it ended at once'));
      else if (signal.aborted) socket.destroy();
      else {
        signal.removeEventListener('abort', onAbort);
        socket.allowHalfOpen = true;
        resolve(socket);
      }
    });
  });
}

function connectHere(port: number, signal: AbortSignal, hosts = ['127.0.0.1', '::1']): Promise<Socket> {
  const [host, ...others] = hosts;
  return new Promise<Socket>((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    const onAbort = (): void => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', onAbort);
      const failure = new InsideConnectionError(error.code ?? 'EUNKNOWN', error.message);
      if (!isConnectionRefused(failure) || others.length === 0) reject(failure);
      // What is told is what was said of the first address.
      else resolve(connectHere(port, signal, others).catch(() => Promise.reject(failure)));
    });
  });
}
