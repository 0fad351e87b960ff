/**
 * What handlers see of a request, and what they answer: no socket, no header that only the transport needs.
 *
 * @module
 */
import { type ApiError } from './api-error.js';

/** A request as handlers see it. */
export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The parts of the path that vary, decoded. */
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The client has not shown who he is where others do: no more is told than to anybody. */
  readonly isAnonymous?: boolean;
  readonly query: URLSearchParams;
  /** In small letters. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Aborts when the client has gone, the time is up, or the server closes. */
  readonly signal: AbortSignal;
  /** The body as JSON; undefined when there is none. Rejects with an {@link ApiError} when it is none, or too large. */
  readBody(): Promise<unknown>;
}

/** What a handler answers. */
export type ApiAnswer = JsonAnswer | TextAnswer | BytesAnswer | StreamAnswer;

/** One object. */
export interface JsonAnswer {
  readonly kind: 'json';
  readonly body: unknown;
  /** 200 unless told. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A few words. */
export interface TextAnswer {
  readonly kind: 'text';
  readonly body: string;
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A whole that is there already, which other answers may share. */
export interface BytesAnswer {
  readonly kind: 'bytes';
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * As much as there is, at the client's pace: the next piece is asked for when the connection has taken the one before.
 * What it throws before the first piece is the answer; later it breaks the answer off.
 */
export interface StreamAnswer {
  readonly kind: 'stream';
  readonly contentType: string;
  /** 200 unless told. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Its pieces end early when the signal aborts: it is broken off then, for half of it must not pass for the whole. */
  readonly abortCutsOff?: boolean;
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

/** Answers a request. Rejects with an {@link ApiError}; anything else becomes an InternalError. */
export type ApiHandler = (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>;

/**
 * Where an upgraded connection leads: the URL of a server on this machine that speaks the protocol that the client asked
 * for. Rejects as {@link ApiHandler} does.
 */
export type UpgradeHandler = (request: ApiRequest) => Promise<URL>;

/** What is known of a client before anything it asks is looked at. */
export interface ApiClient {
  /** The address of ours that it came to; undefined at a unix socket. */
  readonly localAddress: string | undefined;
  /** Its own; undefined at a unix socket. */
  readonly remoteAddress?: string | undefined;
  /** Common name and organizations in its certificate, when an authority that we trust vouches for that. */
  readonly certificate: { readonly name: string; readonly groups: readonly string[] } | undefined;
}

/** What is asked for, before anything is done about it. */
export interface AskedRequest extends Pick<ApiRequest, 'method' | 'path' | 'headers' | 'signal'> {
  /**
   * The path as it is written where it is served, and `other` where nothing is: what may be done goes by that, for there
   * are many ways to write one path.
   */
  readonly template: string;
}

/** Undefined: it may be done; `anonymous`: also by who has not shown who he is, as far as that goes. */
export type Verdict = ApiError | 'anonymous' | undefined;

/** Who may do what. Never rejects; others than a cluster know it at once. */
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

/** `true`, `1` or the bare name stand for yes, as with an API server. */
export function isTrue(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !['false', '0', 'f', 'F', 'FALSE', 'False'].includes(value);
}
