import { type Clock } from '#base/time/clock.js';
import { isRecord } from '#base/text/is-record.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type RegistryAnswer } from './registry-http.js';

const MAX_ERROR_BYTES = 64 * 1024;

/** An answer that is no success. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: number;
  /** What the registry asks for in `Retry-After`. */
  readonly restMs: number;

  constructor(status: number, message: string, restMs: number) {
    super(message);
    this.status = status;
    this.restMs = restMs;
  }

  /** Whether the next attempt may have another answer. */
  get isPassing(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** What an answer says that is no success; reads the rest of it. `what` was asked for. */
export async function toStatusError(
  answer: RegistryAnswer,
  clock: Pick<Clock, 'now'>,
  what = 'image',
): Promise<StatusError> {
  const { status, statusText, origin } = answer;
  const restMs = parseRetryAfter(answer.header('retry-after'), clock.now());
  let said = '';
  // The answer itself counts, not whether its words arrive.
  if (isJson(answer)) said = await answer.text(MAX_ERROR_BYTES).then(wordsOf, () => '');
  else answer.discard();
  const { host } = new URL(origin);
  const words = said === '' ? statusText : `${statusText}: ${said}`;
  if (status === 404) return new StatusError(status, `${host} has no such ${what} (${words})`, restMs);
  if (status !== 429) return new StatusError(status, `${host} answers ${words}`, restMs);
  const rest = restMs > 0 ? `, and asks to wait for ${Math.ceil(restMs / 1_000)}s` : '';
  return new StatusError(status, `${host} limits the rate of pulls (${words})${rest}`, restMs);
}

function isJson(answer: RegistryAnswer): boolean {
  return /^application\/([\w.+-]+\+)?json\b/.test(answer.header('content-type') ?? '');
}

/** `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, for people. */
function wordsOf(text: string): string {
  const { errors } = parseJsonObject(text) ?? {};
  const [first] = Array.isArray(errors) ? errors.filter(isRecord) : [];
  const words = first?.['message'] ?? first?.['code'];
  return typeof words === 'string' ? words.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 200) : '';
}

/** Seconds or a date; 0 for nothing or nonsense. */
function parseRetryAfter(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  if (/^\d{1,15}$/.test(value.trim())) return Number(value) * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}
