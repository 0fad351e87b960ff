import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { toNodeCommand } from '#base/program/node-script.js';
import { TOOL_PATH } from '../process/find-tools.js';

/** A connection inside a sandbox that could not be made. */
export class InsideConnectionError extends Error {
  override readonly name = 'InsideConnectionError';
  /** The kernel's code, `ECONNREFUSED` when nothing listens; `ENETNS` when the namespace cannot be entered. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The helper ended while an attempt was under way: another helper can make it. */
export class HelperLostError extends InsideConnectionError {
  constructor() {
    super('ENETNS', 'the process that connects inside the sandbox has ended');
  }
}

/** To be connected with a port; without a port, nobody wants that connection any more. */
interface HelperRequest {
  readonly id: number;
  readonly port?: number;
}

/** What the helper sends: which namespace it is in, once, and then an answer for each attempt. */
type Message =
  | { readonly namespace: string }
  | { readonly id: number; readonly connected: true }
  | { readonly id: number; readonly code: string; readonly message: string };

/**
 * Connects for whoever asks, and sends the connected socket back: no process stands between the two ends from then on.
 * It reads nothing from a socket, so that no byte is lost. It ends with its channel, and so with the runtime.
 */
const SCRIPT = String.raw`'use strict';
const net = require('node:net');
const open = new Map();
const gone = () => process.exit();
const answer = (id, words, socket) => {
  if (!process.connected || !open.delete(id)) return void (socket && socket.destroy());
  process.send({ id, ...words }, socket, { keepOpen: false }, () => undefined);
};
const attempt = (id, port, hosts, failure) => {
  if (hosts.length === 0) return answer(id, { code: failure.code || 'EUNKNOWN', message: failure.message });
  const socket = new net.Socket({ allowHalfOpen: true });
  open.set(id, socket);
  socket.pause();
  let connected = false;
  socket.on('error', (error) => {
    if (connected || !open.has(id)) return;
    attempt(id, port, error.code === 'ECONNREFUSED' ? hosts.slice(1) : [], failure || error);
  });
  socket.connect({ host: hosts[0], port }, () => {
    connected = true;
    answer(id, { connected: true }, socket);
  });
};
process.once('disconnect', gone);
process.on('message', (requests) => {
  for (const { id, port } of requests) {
    if (port !== undefined) {
      attempt(id, port, ['127.0.0.1', '::1']);
      continue;
    }
    const socket = open.get(id);
    open.delete(id);
    if (socket) socket.destroy();
  }
});
process.send({ namespace: require('node:fs').readlinkSync('/proc/self/ns/net') });
`;

/** Keeps Node small: a helper holds a few sockets for a moment. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=32', '--v8-pool-size=0'];

interface Attempt {
  readonly onAsked: (() => void) | undefined;
  readonly succeed: (socket: Socket) => void;
  readonly fail: (error: Error) => void;
}

/** How a connection inside a namespace is wanted. */
export interface InsideAttempt {
  /** Ends the attempt, with its reason. */
  readonly signal: AbortSignal;
  /** Called once the helper runs and has been asked. */
  readonly onAsked?: () => void;
}

/** What a {@link ConnectionHelper} needs. */
export interface ConnectionHelperOptions {
  /** A process in the namespace. */
  readonly holderPid: number;
  /** The namespace, as the link `/proc/PID/ns/net` names it. */
  readonly namespace: string;
}

/** A process inside a network namespace that makes connections there, many at a time. */
export class ConnectionHelper {
  /** Resolves once the process has ended. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #attempts = new Map<number, Attempt>();
  /** What is asked for in this turn of the loop. */
  readonly #requests: HelperRequest[] = [];
  #lastId = 0;
  #words = '';
  #isReady = false;
  #hasEnded = false;

  constructor({ holderPid, namespace }: ConnectionHelperOptions) {
    const { argv, env } = toNodeCommand({ script: { code: SCRIPT }, flags: NODE_FLAGS });
    const child = spawn('nsenter', [`--net=/proc/${holderPid}/ns/net`, '--', ...argv], {
      cwd: '/',
      env: { ...env, PATH: TOOL_PATH },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    // The runtime may end while a helper is idle.
    child.unref();
    child.channel?.unref();
    (child.stderr as Socket | null)?.unref();
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#words = `${this.#words}${chunk.toString()}`.slice(0, 1000);
    });
    child.on('message', (message, socket) => this.#take(message as Message, socket, namespace));
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#failAll(new InsideConnectionError('ENETNS', error.message));
        resolve();
      });
      child.once('close', () => {
        this.#failAll(
          this.#isReady
            ? new HelperLostError()
            : new InsideConnectionError('ENETNS', this.#words.trim() || 'the helper ended'),
        );
        resolve();
      });
    });
  }

  /** The id of the process; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it can make no more connections. */
  get hasEnded(): boolean {
    return this.#hasEnded || !this.#child.connected;
  }

  /** How many connections are being made. */
  get openCount(): number {
    return this.#attempts.size;
  }

  /**
   * Connects to a port of the namespace's loopback. Rejects with {@link InsideConnectionError}, or with the signal's
   * reason; with {@link HelperLostError} when the helper died meanwhile.
   */
  connect(port: number, { signal, onAsked }: InsideAttempt): Promise<Socket> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      if (this.hasEnded) {
        reject(new HelperLostError());
        return;
      }
      const id = ++this.#lastId;
      const onAbort = (): void => {
        this.#attempts.delete(id);
        this.#send({ id });
        reject(signal.reason as Error);
      };
      const leave = (): void => {
        this.#attempts.delete(id);
        signal.removeEventListener('abort', onAbort);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#attempts.set(id, {
        onAsked,
        succeed: (socket) => {
          leave();
          socket.allowHalfOpen = true;
          resolve(socket);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      });
      this.#send({ id, port });
      if (this.#isReady) onAsked?.();
    });
  }

  /** Ends the process at once; does nothing when it has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#child.kill('SIGKILL');
  }

  /** Sends what is asked for in one turn of the loop as one message: each one wakes the helper. */
  #send(request: HelperRequest): void {
    this.#requests.push(request);
    if (this.#requests.length > 1) return;
    setImmediate(() => {
      const requests = this.#requests.splice(0);
      // One that has just died says so by its end.
      if (this.#child.connected) this.#child.send(requests, () => undefined);
    });
  }

  #take(message: Message, socket: unknown, namespace: string): void {
    if ('namespace' in message) {
      if (message.namespace === namespace) {
        this.#isReady = true;
        for (const { onAsked } of this.#attempts.values()) onAsked?.();
        return;
      }
      this.#failAll(new InsideConnectionError('ENETNS', 'the sandbox has ended'));
      this.end();
      return;
    }
    const attempt = this.#attempts.get(message.id);
    if (attempt === undefined) {
      if (socket instanceof Socket) socket.destroy();
    } else if (!('connected' in message)) {
      attempt.fail(new InsideConnectionError(message.code, message.message));
    } else if (socket instanceof Socket) {
      attempt.succeed(socket);
    } else {
      attempt.fail(new InsideConnectionError('ECONNRESET', 'it ended at once'));
    }
  }

  #failAll(error: Error): void {
    this.#hasEnded = true;
    for (const { fail } of [...this.#attempts.values()]) fail(error);
  }
}
