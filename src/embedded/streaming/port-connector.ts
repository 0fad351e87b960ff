import { spawn, type ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { messageOf } from '../../util/errors.js';

/** What a {@link PortConnector} needs. */
export interface PortConnectorOptions {
  /** The file of /proc that leads into the network, asked at the first connection; undefined: the host's. */
  readonly findNetwork: () => Promise<string | undefined>;
  /** Where `nsenter` is. */
  readonly path: string;
}

/** Both are loopback; a program may listen on one of them only. */
const ADDRESSES = ['127.0.0.1', '::1'];

interface Waiting {
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Connects to loopback ports inside of a network namespace.
 *
 * A process cannot change the network of its threads with Node alone, but a socket stays where it was made. So a
 * small Node process lives in there for as long as the forwarding does, makes the connections and hands the sockets
 * over; the bytes do not pass through it. It costs about 40 MiB, and nothing for pods with the host's network.
 */
export class PortConnector {
  readonly #options: PortConnectorOptions;
  readonly #waiting = new Map<number, Waiting>();
  #entered: Promise<ChildProcess | undefined> | undefined;
  #child: ChildProcess | undefined;
  #lastId = 0;
  #closed = false;

  constructor(options: PortConnectorOptions) {
    this.#options = options;
  }

  /** Rejects with a sentence when nobody listens there, or the network is gone. */
  async connect(port: number): Promise<Socket> {
    this.#entered ??= this.#enter();
    const child = await this.#entered;
    if (child === undefined) return connectHere(port);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      if (child.connected) child.send({ id, port });
      else this.#fail();
    });
  }

  /** Ends the process inside; sockets that were handed over go on. */
  close(): void {
    this.#closed = true;
    this.#child?.kill('SIGKILL');
    this.#fail();
  }

  async #enter(): Promise<ChildProcess | undefined> {
    const { findNetwork, path } = this.#options;
    const network = await findNetwork();
    if (network === undefined) return undefined;
    // Held open and asked for again: if it is still the answer, what was opened is not a later process's network.
    const file = await open(network, 'r');
    try {
      if ((await findNetwork()) !== network) throw new Error('the pod has just ended');
      if (this.#closed) throw new Error('the client is gone');
      return await this.#spawn(`/proc/${process.pid}/fd/${file.fd}`, path);
    } finally {
      await file.close();
    }
  }

  #spawn(network: string, path: string): Promise<ChildProcess> {
    const args = [`--net=${network}`, process.execPath, '--max-old-space-size=32', '-e', INSIDE];
    const child = spawn('nsenter', args, {
      cwd: '/',
      env: { PATH: path },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child = child;
    child.on('message', (message, handle) => this.#receive(message as Answer, handle as Socket | undefined));
    return new Promise((resolve, reject) => {
      child.once('message', () => resolve(child));
      // More than one can come: from its start, then from what is sent to it.
      child.on('error', (error) => {
        reject(error);
        this.#fail();
      });
      child.once('exit', () => {
        reject(new Error('the network of the pod cannot be entered'));
        this.#fail();
      });
    });
  }

  #receive({ id, error }: Answer, socket: Socket | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (socket === undefined) {
      waiting?.reject(new Error(error ?? 'the connection was lost on its way'));
      return;
    }
    socket.allowHalfOpen = true;
    if (waiting === undefined) socket.destroy();
    else waiting.resolve(socket);
  }

  #fail(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error('the network of the pod is gone'));
    this.#waiting.clear();
  }
}

/** What the process inside says: first that it is there (id 0), then the outcome of each request. */
interface Answer {
  readonly id: number;
  readonly error?: string;
}

/** Runs inside the network: gets `{ id, port }`, answers with the socket or an error. */
const INSIDE = `
const { connect } = require('node:net');
process.once('disconnect', () => process.exit());
process.on('message', ({ id, port }) => {
  const addresses = ${JSON.stringify(ADDRESSES)};
  const errors = [];
  const next = () => {
    const host = addresses.shift();
    if (host === undefined) return process.send({ id, error: errors.join(', ') });
    const socket = connect({ host, port, allowHalfOpen: true });
    // Not a byte may be read here.
    socket.pause();
    socket.once('error', (error) => { errors.push(error.message); next(); });
    socket.once('connect', () => {
      socket.removeAllListeners('error').on('error', () => {});
      process.send({ id }, socket);
    });
  };
  next();
});
process.send({ id: 0 });
`;

async function connectHere(port: number): Promise<Socket> {
  const errors: string[] = [];
  for (const host of ADDRESSES) {
    try {
      return await connectTo(host, port);
    } catch (error) {
      errors.push(messageOf(error));
    }
  }
  throw new Error(errors.join(', '));
}

function connectTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
