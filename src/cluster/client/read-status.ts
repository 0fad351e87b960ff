import { ApiError } from './kube-client.js';
import { type Answer } from './http-transport.js';

const MAX_TEXT_LENGTH = 500;

/** What an answer other than success says. `body`: a `Status` object as a rule, text from proxies. */
export function readStatus({ status, headers }: Answer, body: Buffer): ApiError {
  let object: unknown;
  const text = body.toString('utf8', 0, 64 * 1024);
  try {
    object = JSON.parse(body.toString('utf8'));
  } catch {
    object = { message: text.trim().slice(0, MAX_TEXT_LENGTH) };
  }
  return toApiError(status, object, readSeconds(headers['retry-after']));
}

/** A `Status` object as an error; `code` is HTTP's, for where the object has none. */
export function toApiError(code: number, object: unknown, retryAfterMs?: number): ApiError {
  const fields = typeof object === 'object' && object !== null ? (object as Record<string, unknown>) : {};
  const details = fields['details'] as
    { readonly retryAfterSeconds?: unknown; readonly causes?: unknown } | null | undefined;
  const inBody = details?.retryAfterSeconds;
  const own = typeof fields['code'] === 'number' ? fields['code'] : code;
  const message = typeof fields['message'] === 'string' ? fields['message'] : '';
  return new ApiError(
    code === 0 ? own : code,
    typeof fields['reason'] === 'string' ? fields['reason'] : '',
    message === '' ? `the API server answered with ${own}` : message,
    retryAfterMs ?? (code !== 0 && typeof inBody === 'number' && inBody > 0 ? inBody * 1_000 : undefined),
    readCauses(details?.causes),
  );
}

function readCauses(causes: unknown): string[] {
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause: { readonly reason?: unknown } | null) =>
    typeof cause?.reason === 'string' ? cause.reason : [],
  );
}

/** Seconds, as API servers write it; never a date. */
function readSeconds(header: string | readonly string[] | undefined): number | undefined {
  const text = typeof header === 'string' ? header : header?.[0];
  if (text === undefined || !/^\d{1,6}$/.test(text.trim())) return undefined;
  return Number(text) * 1_000;
}
