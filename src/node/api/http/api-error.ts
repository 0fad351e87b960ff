/**
 * Errors in the form of a Kubernetes API: a v1 Status with a reason for programs and a sentence for people.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ and the reasons of metav1.Status
 *
 * @module
 */

/** One of several problems, with its field. */
export interface ApiStatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** The object of an error. */
export interface ApiStatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly causes?: readonly ApiStatusCause[];
  readonly retryAfterSeconds?: number;
}

/** A v1 Status. */
export interface ApiStatus {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: ApiStatusDetails;
  readonly code: number;
}

/** The HTTP code of each reason. */
const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  RequestTimeout: 408,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

/** The reason of an error, in one word. */
export type ApiReason = keyof typeof CODES;

/** An error that the client gets as a v1 Status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly reason: ApiReason;
  readonly details: ApiStatusDetails | undefined;
  /** The methods that the path supports, for MethodNotAllowed; see RFC 9110, 15.5.6. */
  readonly allow: readonly string[] | undefined;

  constructor(
    reason: ApiReason,
    message: string,
    details?: ApiStatusDetails,
    { allow, ...options }: { cause?: unknown; allow?: readonly string[] } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.details = details;
    this.allow = allow;
  }

  /** The HTTP code. */
  get code(): number {
    return CODES[this.reason];
  }

  /** The form in which it is sent. */
  toStatus(): ApiStatus {
    const { message, reason, details, code } = this;
    return {
      ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason },
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

/** `pods "x" not found`; `resource` in the plural. */
export function notFoundError(resource: string, name: string): ApiError {
  return new ApiError('NotFound', `${resource} ${JSON.stringify(name)} not found`, { name, kind: resource });
}

/** The request itself is invalid. */
export function badRequest(message: string): ApiError {
  return new ApiError('BadRequest', message);
}

/** All problems of an object at once, in the words in which kubectl prints them. */
export function invalidError(kind: string, name: string, causes: readonly ApiStatusCause[]): ApiError {
  const list = causes.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`));
  const all = list.length === 1 ? list[0]! : `[${list.join(', ')}]`;
  return new ApiError('Invalid', `${kind} ${JSON.stringify(name)} is invalid: ${all}`, {
    name,
    kind,
    causes,
  });
}
