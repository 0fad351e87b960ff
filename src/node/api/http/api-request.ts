/**
 * Requests and answers as handlers see them, without sockets and transport headers.
 *
 * @module
 */
import { type ApiError } from './api-error.js';

/** A request as handlers see it. */
export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The variable parts of the path, decoded. */
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The client is not identified although others are: it gets only what is open to anybody. */
  readonly isAnonymous?: boolean;
  readonly query: URLSearchParams;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Aborts when the client has gone, the time is up, or the server closes. */
  readonly signal: AbortSignal;
  /**
   * The body as JSON; undefined when there is none. Rejects with an {@link ApiError} if it is invalid or too
   * large.
   */
  readBody(): Promise<unknown>;
}

/** The answer of a handler. */
export type ApiAnswer = JsonAnswer | TextAnswer | BytesAnswer | StreamAnswer;

/** One object. */
export interface JsonAnswer {
  readonly kind: 'json';
  readonly body: unknown;
  /** Default: 200. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Short text. */
export interface TextAnswer {
  readonly kind: 'text';
  readonly body: string;
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A complete body in memory, which several answers may share. */
export interface BytesAnswer {
  readonly kind: 'bytes';
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * A stream at the client's pace: the next piece is requested when the connection has taken the one before.
 *
 * An error before the first piece becomes the answer; a later one breaks the answer off.
 */
export interface StreamAnswer {
  readonly kind: 'stream';
  readonly contentType: string;
  /** Default: 200. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Its pieces end early when the signal aborts: the answer is broken off then, so that half of it does not
   * seem complete.
   */
  readonly abortCutsOff?: boolean;
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

/** Answers a request. Rejects with an {@link ApiError}; any other error becomes an InternalError. */
export type ApiHandler = (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>;

/**
 * Finds where an upgraded connection leads to.
 *
 * Rejects like {@link ApiHandler}.
 */
export type UpgradeHandler = (request: ApiRequest) => Promise<UpgradeTarget>;

/** The target of an upgraded connection. */
export interface UpgradeTarget {
  /** Of a server on this machine that speaks the requested protocol. */
  readonly url: URL;
  /** That server has agreed to the protocol. */
  readonly onJoined?: () => void;
}

/** What is known of a client before its request is read. */
export interface ApiClient {
  /** The server's address that it connected to; undefined at a unix socket. */
  readonly localAddress: string | undefined;
  /** The client's address; undefined at a unix socket. */
  readonly remoteAddress?: string | undefined;
  /** Common name and organizations in its certificate, if a trusted authority has signed it. */
  readonly certificate: { readonly name: string; readonly groups: readonly string[] } | undefined;
}

/** A request before anything is done about it. */
export interface AskedRequest extends Pick<ApiRequest, 'method' | 'path' | 'headers' | 'signal'> {
  /**
   * The path's template if it is served, otherwise `other`.
   *
   * Permissions depend on the template, as there are many ways to write one path.
   */
  readonly template: string;
}

/** Undefined: allowed; `anonymous`: also allowed without credentials, as far as that goes. */
export type Verdict = ApiError | 'anonymous' | undefined;

/** Decides who may do what. Never rejects; only a cluster takes time to decide. */
export type Authorize = (request: AskedRequest, client: ApiClient) => Verdict | Promise<Verdict>;

/** One object as an answer. */
export function jsonAnswer(
  body: unknown,
  code?: number,
  headers?: Readonly<Record<string, string>>,
): JsonAnswer {
  return {
    kind: 'json',
    body,
    ...(code === undefined ? {} : { code }),
    ...(headers === undefined ? {} : { headers }),
  };
}

/** `true`, `1` or the bare name mean yes, as with an API server. */
export function isTrue(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !['false', '0', 'f', 'F', 'FALSE', 'False'].includes(value);
}
