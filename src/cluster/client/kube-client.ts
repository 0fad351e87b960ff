/**
 * What the parts of a cluster's node need of an API server: one request, and one watch.
 *
 * Everything below `src/cluster` takes this interface; who speaks TLS, reads a kubeconfig and keeps connections is not
 * its business.
 *
 * @module
 */

/** One request to the API server. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As in `/api/v1/nodes/here`, its parts encoded already. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body; Default: `application/json`, for PATCH `application/strategic-merge-patch+json`. */
  readonly contentType?: string;
  /** How long the whole of it may take once it is sent (default: 30 s). */
  readonly timeoutMs?: number;
  /** Where requests are held back, most turns go to those that are urgent (default: false). */
  readonly isUrgent?: boolean;
  readonly signal?: AbortSignal;
}

/** Objects as the API server sends them: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/** One watch of a collection. */
export interface WatchRequest {
  /** Of the collection, as in `/api/v1/pods`. */
  readonly path: string;
  /** Selectors, `resourceVersion`, `timeoutSeconds`; `watch` and `allowWatchBookmarks` are added. */
  readonly query: Readonly<Record<string, string>>;
  /** As of a {@link KubeRequest}. */
  readonly isUrgent?: boolean;
  /** Called once, as soon as the server has agreed to it: before any event, as none may come for a long time. */
  readonly onOpen?: () => void;
  readonly signal: AbortSignal;
}

/**
 * An API server, as one of its users.
 *
 * @remarks Rejects with {@link ApiError} for what the server answers, also where it has asked for another try and did not answer
 * that in time; with any other error when it was not reached, did not answer at all, or the signal fired.
 */
export interface KubeClient {
  /** The body of the answer, decoded; `undefined` when it has none. */
  request<T>(request: KubeRequest): Promise<T>;

  /** Events until the server ends the watch; an `ERROR` event is thrown as an {@link ApiError} (`410` when too old). */
  watch<T>(request: WatchRequest): AsyncIterable<WatchEvent<T>>;
}

/** What an API server answered instead of what was asked for: its `Status` object. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    /** The HTTP status code. */
    readonly code: number,
    /** One word for programs, as in `NotFound`, `Conflict`, `Expired`. */
    readonly reason: string,
    message: string,
    /** When the server asked to be left alone for so long. */
    readonly retryAfterMs?: number,
    /** What exactly it was, one word each, as in `ResourceVersionTooLarge`; none where the server has not said. */
    readonly causes: readonly string[] = [],
  ) {
    super(message);
  }
}

/** There was no answer to a request in its time, not even one that asked for another try. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** Whether an API server answered with one of these HTTP status codes. */
export function isAnswer(error: unknown, ...codes: readonly number[]): error is ApiError {
  return error instanceof ApiError && codes.includes(error.code);
}

/**
 * Whether the server has not got as far as the resource version that was asked for. It has waited for that already, for a few
 * seconds, so there is no use in another try; and after a restore of etcd it never gets there.
 */
export function isTooNew(error: unknown): boolean {
  if (!isAnswer(error, 504)) return false;
  // A 504 of something in between says only that it is slow. Not every server gives the cause.
  return (
    error.causes.includes('ResourceVersionTooLarge') || error.message.includes('Too large resource version')
  );
}

/** For how long an API server asked to be left alone, in milliseconds; 0 when it did not. */
export function retryAfterMsOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}
