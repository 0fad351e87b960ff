import { type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Clock } from '#base/time/clock.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { toApiError } from './api-status.js';
import { type KubeObject } from '#kube/columns/kube-object.js';

/** The port with TLS of an agent, on this machine or another. */
export interface RemoteAgent {
  readonly url: URL;
  /** Who asks. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

/** What an {@link AgentClient} needs. */
export interface AgentClientOptions {
  /** Of a remote agent: how messages name it. */
  readonly socketPath: string;
  /** Absent for an agent that is asked at its socket. */
  readonly remote?: RemoteAgent | undefined;
  readonly clock: Clock;
  /** Ends every call, as when Ctrl-C was pressed. */
  readonly signal: AbortSignal;
}

/** Values of a query by name; what is undefined or false is left out, a list has its name several times. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** What goes with a request. */
export interface CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  /** Ends this call alone. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the answer may take to begin; for ever when undefined. */
  readonly limitMs?: number | undefined;
}

/** A response with an object. */
export interface ObjectAnswer {
  readonly object: KubeObject;
  /** What became of it, where the agent says so: `created`, `configured`, `unchanged`. */
  readonly result: string | undefined;
  /** What the agent wants to be known, in words. */
  readonly warnings: readonly string[];
}

/** How long an answer may take that is no stream, and one that is one to begin. */
export const ANSWER_LIMIT_MS = 60_000;

/**
 * A client of a running agent: Kubernetes' API over a unix socket, or over TLS.
 *
 * Every method rejects with a CommandFailure: an ApiError when the agent refuses, else one that says how the agent
 * could not be reached.
 */
export class AgentClient {
  readonly socketPath: string;
  readonly remote: RemoteAgent | undefined;
  readonly signal: AbortSignal;
  readonly #clock: Clock;

  constructor({ socketPath, remote, clock, signal }: AgentClientOptions) {
    this.socketPath = socketPath;
    this.remote = remote;
    this.signal = signal;
    this.#clock = clock;
  }

  /** Gets an object or a list. */
  async get(path: string, query?: Query): Promise<KubeObject> {
    return (await this.send('GET', path, query === undefined ? {} : { query })).object;
  }

  /** Sends an object (or nothing) and gets one. */
  async send(method: string, path: string, options: CallOptions = {}): Promise<ObjectAnswer> {
    const answer = await this.open(method, path, { limitMs: ANSWER_LIMIT_MS, ...options });
    const body = await this.#read(answer);
    const result = answer.headers['podloop-result'];
    const object: KubeObject | undefined = parseJsonObject(body);
    if (object === undefined) {
      throw failure(
        `the agent at ${this.socketPath} has not answered ${method} ${path} with an object in JSON`,
      );
    }
    const warnings = readWarnings(answer.headers.warning);
    return { object, result: typeof result === 'string' ? result : undefined, warnings };
  }

  /** Resolves with an answer whose status is a success, to be read as it comes. */
  async open(method: string, path: string, options: CallOptions = {}): Promise<IncomingMessage> {
    const { signal, release } = this.limit(options);
    try {
      const answer = await this.#begin(method, path, options, signal);
      release();
      const { statusCode = 0 } = answer;
      if (statusCode < 400) return answer;
      throw toApiError(statusCode, await this.#read(answer));
    } finally {
      release();
    }
  }

  /** The pieces of an answer as they come. Throws a CommandFailure when the agent is gone before it has ended. */
  async *read(answer: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* answer as AsyncIterable<Buffer>;
    } catch (error) {
      if (systemCodeOf(error) !== 'ECONNRESET') throw error;
      throw failure(
        `unexpected EOF: the agent at ${this.socketPath} has ended, or its connection has broken`,
      );
    }
  }

  /**
   * Asks for another protocol and resolves with the connection, or with the answer of an agent that refuses.
   */
  async upgrade(method: string, path: string, options: CallOptions): Promise<Upgrade> {
    const { signal, release } = this.limit({ limitMs: ANSWER_LIMIT_MS, ...options });
    try {
      return await new Promise<Upgrade>((resolve, reject) => {
        const call = this.#call(method, path, options, signal);
        call.once('error', (error) => reject(this.#explain(error, signal)));
        call.once('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
          if (head.length > 0) socket.unshift(head);
          resolve({ socket, answer });
        });
        call.once('response', (answer) => {
          text(answer).then(
            (body) => resolve({ refused: body, code: answer.statusCode ?? 0 }),
            (error: unknown) => reject(this.#explain(error, signal)),
          );
        });
        call.end();
      });
    } finally {
      release();
    }
  }

  #begin(method: string, path: string, options: CallOptions, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = this.#call(method, path, options, signal);
      call.once('error', (error) => reject(this.#explain(error, signal)));
      call.once('response', resolve);
      call.end(options.body === undefined ? undefined : JSON.stringify(options.body));
    });
  }

  #call(method: string, path: string, options: CallOptions, signal: AbortSignal): ReturnType<typeof request> {
    const { query, body, headers } = options;
    const { remote } = this;
    const send = remote === undefined ? request : requestTls;
    return send({
      ...(remote === undefined
        ? { socketPath: this.socketPath }
        : { ...remote.tls, host: hostOf(remote.url), port: portOf(remote.url) }),
      // A connection of its own: what is followed for hours holds up nothing else.
      agent: false,
      method,
      path: withQuery(path, query),
      headers: {
        host: remote?.url.host ?? 'podloop',
        accept: 'application/json, */*',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...remote?.headers,
      },
      signal,
    });
  }

  async #read(answer: IncomingMessage): Promise<string> {
    try {
      return await text(answer);
    } catch (error) {
      throw this.#explain(error, this.signal);
    }
  }

  /** A signal that also aborts when there was no answer in time: until `release` is called. */
  limit({ signal, limitMs }: Pick<CallOptions, 'signal' | 'limitMs'>): {
    readonly signal: AbortSignal;
    readonly release: () => void;
  } {
    const late = new AbortController();
    const timer =
      limitMs === undefined
        ? undefined
        : this.#clock.setTimer(limitMs, () =>
            late.abort(failure(`the agent at ${this.socketPath} did not answer within ${limitMs / 1000}s`)),
          );
    const signals = [this.signal, late.signal, ...(signal === undefined ? [] : [signal])];
    return { signal: AbortSignal.any(signals), release: () => timer?.cancel() };
  }

  /** What went wrong on the way to the agent, in words. */
  #explain(error: unknown, signal: AbortSignal): Error {
    if (signal.aborted && signal.reason instanceof CommandFailure) return signal.reason;
    const { code, message } = error as NodeJS.ErrnoException;
    if (signal.aborted) return new Error(message, { cause: error });
    const at = `cannot reach the agent at ${this.socketPath}`;
    if (this.remote !== undefined && code !== 'ECONNRESET' && code !== 'EPIPE') {
      const isUntrusted = /CERT|SELF_SIGNED|ISSUER|VERIFY/.test(code ?? '');
      const remedy = '; name who has signed its certificate with --certificate-authority';
      return failure(`${at}: ${message}${isUntrusted ? remedy : ''}`);
    }
    if (code === 'ENOENT' || code === 'ECONNREFUSED') {
      return new AgentAbsent(this.socketPath);
    }
    if (code === 'EACCES') {
      return failure(`${at}: only the user who started it, or root, may use its socket`, { needsRoot: true });
    }
    if (code === 'ECONNRESET' || code === 'EPIPE') {
      return failure(`the agent at ${this.socketPath} has ended the connection: it may be ending; try again`);
    }
    return failure(`${at}: ${message}`);
  }
}

/** Without the brackets of IPv6. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf({ port }: URL): number {
  return port === '' ? 443 : Number(port);
}

/** No agent listens at the socket. */
export class AgentAbsent extends CommandFailure {
  constructor(socketPath: string) {
    const words = 'is "podloop run" running? Name its socket with --socket or PODLOOP_SOCKET';
    super([`error: cannot reach the agent at ${socketPath}: ${words}`]);
  }
}

/** Another protocol on a connection, or an answer that refuses it. */
export type Upgrade =
  | { readonly socket: Duplex; readonly answer: IncomingMessage }
  | { readonly refused: string; readonly code: number };

/** The texts of a header `Warning`: RFC 7234, 5.5. */
function readWarnings(header = ''): string[] {
  return [...header.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    text!.replaceAll(/\\(.)/g, '$1'),
  );
}

/** A path with the query behind it. */
export function withQuery(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === false || value === '') continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value])
      params.append(name, String(one));
  }
  const text = params.toString();
  return text === '' ? path : `${path}?${text}`;
}
