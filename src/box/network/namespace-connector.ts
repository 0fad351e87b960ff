import { readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import {
  ConnectionHelper,
  type ConnectionHelperOptions,
  HelperLostError,
  type InsideAttempt,
  InsideConnectionError,
} from './connection-helper.js';

/** Whether nothing listens at the port. */
export function isConnectionRefused(error: unknown): boolean {
  return error instanceof InsideConnectionError && error.code === 'ECONNREFUSED';
}

/** How long a helper stays for the next connection. Starting another one takes some 50 ms. */
export const HELPER_IDLE_MS = 10_000;

/** Each helper is a Node process of some 40 MB. */
const MAX_HELPERS = 8;

/** What a {@link NamespaceConnector} needs. */
export interface NamespaceConnectorOptions {
  readonly clock: Clock;
  /** The most helpers at a time (default: {@link MAX_HELPERS}). */
  readonly maxHelpers?: number;
  /** Starts a helper (default: a {@link ConnectionHelper}). */
  readonly startHelper?: (options: ConnectionHelperOptions) => NamespaceHelper;
}

/** What a {@link NamespaceConnector} uses of a helper. */
export type NamespaceHelper = Pick<ConnectionHelper, 'pid' | 'hasEnded' | 'ended' | 'connect' | 'end'>;

interface Entry {
  readonly helper: NamespaceHelper;
  /** How many want a connection from it. */
  users: number;
  idle: ClockTimer | undefined;
}

/**
 * Opens TCP connections inside network namespaces.
 *
 * A namespace has one helper process, started by its first connection and ended when no connection was wanted for
 * {@link HELPER_IDLE_MS}. It sends each connected socket to this process, so bytes pass through no one else. A helper
 * that dies is replaced when the next connection is wanted, and attempts that it left unfinished are made once more.
 */
export class NamespaceConnector implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #maxHelpers: number;
  readonly #startHelper: (options: ConnectionHelperOptions) => NamespaceHelper;
  /** By namespace, the least recently used one first. A helper keeps its namespace, so no other one gets its name. */
  readonly #entries = new Map<string, Entry>();
  /** Called in their order when a helper is idle or has ended. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(options: NamespaceConnectorOptions) {
    this.#clock = options.clock;
    this.#maxHelpers = options.maxHelpers ?? MAX_HELPERS;
    this.#startHelper = options.startHelper ?? ((which) => new ConnectionHelper(which));
  }

  /** The processes of all helpers. */
  get helperPids(): number[] {
    return [...this.#entries.values()].flatMap(({ helper: { pid } }) => pid ?? []);
  }

  /**
   * Opens a TCP connection to `port` of the loopback address in the network namespace of a process: 127.0.0.1, or ::1
   * when nothing listens there. Without a `holderPid` it connects in the network of this process.
   *
   * Returns a socket whose directions close on their own: end the writable side to say that nothing more comes. The
   * signal ends the attempt, with its reason, and not the connection; `onAsked` is called when a process inside, which may have
   * to be started, begins to connect. Rejects with {@link InsideConnectionError}.
   */
  async connect(holderPid: number | undefined, port: number, attempt: InsideAttempt): Promise<Duplex> {
    const { signal, onAsked } = attempt;
    signal.throwIfAborted();
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new InsideConnectionError('EINVAL', `${port} is no port`);
    if (holderPid === undefined) {
      onAsked?.();
      return connectHere(port, signal);
    }
    const namespace = readNamespace(holderPid);
    try {
      return await this.#connectThere(holderPid, namespace, port, attempt);
    } catch (error) {
      if (!(error instanceof HelperLostError) || this.#isClosed) throw error;
      return this.#connectThere(holderPid, namespace, port, attempt);
    }
  }

  /** Ends all helpers. Connections that were made go on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const entries = [...this.#entries];
    for (const [namespace, entry] of entries) this.#end(namespace, entry);
    for (const look of [...this.#waiting]) look();
    await Promise.all(entries.map(([, { helper }]) => helper.ended));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connectThere(
    holderPid: number,
    namespace: string,
    port: number,
    attempt: InsideAttempt,
  ): Promise<Socket> {
    const entry = await this.#takeEntry(holderPid, namespace, attempt.signal);
    try {
      return await entry.helper.connect(port, attempt);
    } finally {
      entry.users--;
      if (entry.users === 0) this.#rest(namespace, entry);
    }
  }

  /** The helper of a namespace, with one user more. Waits while too many helpers are busy. */
  async #takeEntry(holderPid: number, namespace: string, signal: AbortSignal): Promise<Entry> {
    for (;;) {
      if (signal.aborted) {
        // Somebody else may take the place that this caller was woken for.
        this.#wakeOne();
        throw signal.reason as Error;
      }
      if (this.#isClosed) throw new InsideConnectionError('ENETNS', 'the runtime ends');
      const entry = this.#findEntry(namespace) ?? this.#startEntry(holderPid, namespace);
      if (entry !== undefined) {
        entry.idle?.cancel();
        entry.users++;
        return entry;
      }
      await this.#untilOneRests(signal);
    }
  }

  #findEntry(namespace: string): Entry | undefined {
    const entry = this.#entries.get(namespace);
    if (entry === undefined || entry.helper.hasEnded) return undefined;
    this.#entries.delete(namespace);
    this.#entries.set(namespace, entry);
    return entry;
  }

  /** Undefined when every helper that may run is busy. */
  #startEntry(holderPid: number, namespace: string): Entry | undefined {
    // Those that have just died must not cost another namespace its helper.
    for (const [name, entry] of [...this.#entries]) if (entry.helper.hasEnded) this.#end(name, entry);
    if (this.#entries.size >= this.#maxHelpers) {
      const resting = [...this.#entries].find(([, { users }]) => users === 0);
      if (resting === undefined) return undefined;
      this.#end(...resting);
    }
    const helper = this.#startHelper({ holderPid, namespace });
    const entry: Entry = { helper, users: 0, idle: undefined };
    this.#entries.set(namespace, entry);
    void helper.ended.then(() => this.#end(namespace, entry));
    return entry;
  }

  #rest(namespace: string, entry: Entry): void {
    if (this.#entries.get(namespace) !== entry) return;
    entry.idle = this.#clock.setTimer(HELPER_IDLE_MS, () => this.#end(namespace, entry), { unref: true });
    this.#wakeOne();
  }

  #end(namespace: string, entry: Entry): void {
    entry.idle?.cancel();
    entry.helper.end();
    if (this.#entries.get(namespace) !== entry) return;
    this.#entries.delete(namespace);
    this.#wakeOne();
  }

  #untilOneRests(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        this.#waiting.delete(look);
        signal.removeEventListener('abort', look);
        resolve();
      };
      this.#waiting.add(look);
      signal.addEventListener('abort', look, { once: true });
    });
  }

  #wakeOne(): void {
    const [first] = this.#waiting;
    first?.();
  }
}

/** In this turn: it waits for no disk, and a turn in another thread costs more than all else of a connection. */
function readNamespace(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch (error) {
    throw new InsideConnectionError('ENETNS', messageOf(error));
  }
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
      // The caller gets the failure of the first address.
      else resolve(connectHere(port, signal, others).catch(() => Promise.reject(failure)));
    });
  });
}
