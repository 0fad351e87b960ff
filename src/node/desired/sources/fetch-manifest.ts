import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { basicAuthorization } from '#base/wire/basic-authorization.js';
import { LARGEST_MANIFEST_BYTES } from '../manifests/manifest-reader.js';

/** A request for manifests. */
export interface ManifestRequest {
  readonly url: URL;
  /** Sent only to the server of the URL, never to one that it redirects to. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** The tag of the known version; undefined to fetch any version. */
  readonly etag: string | undefined;
  /** For everything, including redirects and body. */
  readonly deadlineMs: number;
  readonly clock: Clock;
}

/** The result of a {@link ManifestRequest}. */
export type FetchedManifest =
  | { readonly kind: 'body'; readonly bytes: Uint8Array; readonly etag: string | undefined }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly why: string };

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Gets manifests from a URL. Rejects only with the signal's reason.
 *
 * Anything but 200, and 304 to an ETag, is a failure, and so is a redirect from https to http.
 */
export async function fetchManifest(request: ManifestRequest, signal: AbortSignal): Promise<FetchedManifest> {
  const { clock, deadlineMs } = request;
  const link = linkAbort(signal);
  const late = new Error(`no answer within ${deadlineMs / 1000} s`);
  const timer = startFairDeadline({ clock, deadlineMs, onExpired: () => link.abort(late), unref: true });
  try {
    return await follow(request, link.signal);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'failed', why: link.signal.aborted ? late.message : whyOf(error) };
  } finally {
    timer.cancel();
    link.unlink();
    // An unread body would block the connection.
    link.abort(late);
  }
}

async function follow(
  { url, headers, etag }: ManifestRequest,
  signal: AbortSignal,
): Promise<FetchedManifest> {
  let at = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const answer = await fetch(withoutCredentials(at), {
      headers: headersFor(at, url, headers, etag),
      ...{ redirect: 'manual', signal },
    });
    const { status } = answer;
    if (status === 304 && etag !== undefined) return { kind: 'unchanged' };
    const location = answer.headers.get('location');
    if (!REDIRECTS.includes(status) || location === null) return await toManifest(answer);
    await answer.body?.cancel();
    const next = new URL(location, at);
    if (next.protocol !== 'https:' && next.protocol !== at.protocol) {
      return { kind: 'failed', why: `it leads to ${next.protocol}//, which is not followed` };
    }
    at = next;
  }
  return { kind: 'failed', why: `it leads on more than ${MAX_REDIRECTS} times` };
}

async function toManifest(answer: Response): Promise<FetchedManifest> {
  if (answer.status !== 200) {
    return { kind: 'failed', why: `the answer is ${answer.status} ${answer.statusText}`.trim() };
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > LARGEST_MANIFEST_BYTES) {
      return { kind: 'failed', why: `the answer has more than ${LARGEST_MANIFEST_BYTES} bytes` };
    }
    chunks.push(chunk);
  }
  return { kind: 'body', bytes: Buffer.concat(chunks), etag: answer.headers.get('etag') ?? undefined };
}

function headersFor(
  at: URL,
  url: URL,
  headers: ManifestRequest['headers'],
  etag: string | undefined,
): Headers {
  const sent = new Headers({ accept: 'application/yaml, application/json;q=0.9, */*;q=0.5' });
  if (etag !== undefined) sent.set('if-none-match', etag);
  if (at.origin !== url.origin) return sent;
  const { username, password } = url;
  if (username !== '' || password !== '') {
    const known = basicAuthorization(decodeURIComponent(username), decodeURIComponent(password));
    sent.set('authorization', known);
  }
  for (const [name, values] of Object.entries(headers)) {
    sent.delete(name);
    for (const value of values) sent.append(name, value);
  }
  return sent;
}

/** fetch refuses URLs with credentials. */
function withoutCredentials(url: URL): URL {
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  return plain;
}

/** fetch itself only reports a failure; the reason is in its cause, or deeper for several addresses. */
function whyOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const inner = cause instanceof AggregateError ? ((cause.errors[0] as unknown) ?? cause) : cause;
  return messageOf(inner) || String(inner);
}
