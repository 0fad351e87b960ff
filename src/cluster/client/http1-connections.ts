import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { type Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { type Answer, NotSentError, type Outgoing } from './http-transport.js';

/** More stand idle for a moment only. */
const KEPT_CONNECTIONS = 8;

/** What {@link Http1Connections} need. */
export interface Http1ConnectionsOptions {
  /** Host and port, for the header. */
  readonly host: string;
  /** A connection that is up, whatever secures it. */
  readonly open: () => Promise<Socket>;
}

/** Connections to a server without HTTP/2: one for each request that is under way, kept for the next. */
export class Http1Connections {
  readonly #agent: HttpAgent;
  readonly #host: string;

  constructor({ host, open }: Http1ConnectionsOptions) {
    this.#host = host;
    this.#agent = new HttpAgent({ keepAlive: true, maxFreeSockets: KEPT_CONNECTIONS });
    // The agent keeps and hands out connections; how they are made is not its business.
    this.#agent.createConnection = (_, callback): Duplex | null => {
      open().then(
        (socket) => callback?.(null, socket),
        (error: unknown) => callback?.(error as Error, undefined as unknown as Duplex),
      );
      return null;
    };
  }

  /** Sends a request. Rejects with the signal's reason, with {@link NotSentError}, or with what broke. */
  async send({ method, path, headers, body }: Outgoing, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(body.length) };
      const all = { ...headers, ...length, host: this.#host } as Record<string, string | string[]>;
      const request: ClientRequest = requestHttp({ agent: this.#agent, method, path, headers: all });
      let answer: IncomingMessage | undefined;
      const onAbort = (): void => {
        answer?.destroy(signal.reason as Error);
        request.destroy(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.once('close', () => signal.removeEventListener('abort', onAbort));
      request.on('error', (error) => {
        const isStale = request.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
        reject(isStale ? new NotSentError('the connection was closed while idle', { cause: error }) : error);
      });
      request.once('response', (message) => {
        answer = message;
        message.on('error', () => undefined);
        const findBreak = (): Error | undefined =>
          message.complete ? undefined : new Error('the connection broke');
        resolve({ status: message.statusCode ?? 0, headers: message.headers, body: message, findBreak });
      });
      request.end(body);
    });
  }

  /** Keeps nothing from now on; what goes on ends by itself. */
  retire(): void {
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }

  /** Breaks all of them. */
  destroy(): void {
    this.#agent.destroy();
  }
}
