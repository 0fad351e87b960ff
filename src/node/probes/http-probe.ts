import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { outcomeOfSocketError } from './socket-error.js';
import {
  errored,
  failed,
  MAX_OUTPUT_BYTES,
  type ProbeOutcome,
  silent,
  succeeded,
  succeededWithWarning,
} from './probe-outcome.js';

/** Options of {@link probeByHttp}. */
export interface HttpProbe {
  readonly clock: Clock;
  readonly url: URL;
  /** By name in lower case; see {@link probeHeaders}. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly timeoutMs: number;
}

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  /** The first 10 KiB. */
  readonly body: string;
  /** Why the body could not be read to its end, or to 10 KiB of it. */
  readonly bodyProblem?: string | undefined;
}

/** Maximum number of requests when following redirects. */
export const MAX_REDIRECTS = 10;
/** What other clients accept; Node's own limit is 16 KiB. */
const MAX_HEADER_BYTES = 1024 * 1024;
const BODY_TOO_LATE = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Sends an HTTP request: a status from 200 to 399 is success. Certificates are not verified.
 *
 * It follows redirects that stay on the host; one that leaves it is success with a warning. Each probe has
 * its own connection, and the timeout covers all of it, including the body. The status decides once the body
 * has ended or 10 KiB of it have come. A body that does not end in time, or is cut off, counts neither way.
 *
 * Source: pkg/probe/http/http.go of Kubernetes v1.37.2, which returns an error there, and probes with errors
 * are not counted.
 */
export async function probeByHttp(probe: HttpProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  const { clock, timeoutMs } = probe;
  signal.throwIfAborted();
  const inTime = linkAbort(signal);
  const deadline = startFairDeadline({ clock, deadlineMs: timeoutMs, onExpired: () => inTime.abort() });
  try {
    return await follow(probe, inTime.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!inTime.signal.aborted) return errored(messageOf(error));
    return silent(
      `Get ${JSON.stringify(probe.url.href)}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    );
  } finally {
    deadline.cancel();
    inTime.unlink();
    // Also closes a connection that is still open.
    inTime.abort();
  }
}

async function follow(probe: HttpProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  let { url, headers } = probe;
  for (let redirects = 0; ; redirects++) {
    let answer: Answer;
    try {
      answer = await ask(url, headers, signal);
    } catch (error) {
      signal.throwIfAborted();
      return networkFailure(url, error as Error);
    }
    const next = nextUrl(url, answer);
    if (next instanceof Error) return failed(`Get ${JSON.stringify(url.href)}: ${next.message}`);
    if (next?.hostname !== url.hostname) return judge(answer);
    if (redirects >= MAX_REDIRECTS - 1) {
      return failed(`Get ${JSON.stringify(next.href)}: stopped after ${MAX_REDIRECTS} redirects`);
    }
    // The manifest's host header goes along unless the server names a host itself.
    const { host: _host, ...others } = headers;
    if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(answer.location ?? '')) headers = others;
    url = next;
  }
}

/** Where a redirect leads; undefined when the answer is none, or has no valid location. Pure. */
export function nextUrl(
  url: URL,
  { status, location = '' }: Pick<Answer, 'status' | 'location'>,
): URL | Error | undefined {
  if (!REDIRECTS.has(status) || location === '') return undefined;
  const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
  if (next !== undefined && /^https?:$/.test(next.protocol)) return next;
  return new Error(
    next === undefined
      ? `failed to parse Location header ${JSON.stringify(location)}`
      : `unsupported protocol scheme ${JSON.stringify(next.protocol.slice(0, -1))}`,
  );
}

function judge({ status, body, bodyProblem }: Answer): ProbeOutcome {
  if (bodyProblem !== undefined) return errored(bodyProblem);
  if (status >= 300 && status < 400) {
    return succeededWithWarning(`Probe terminated redirects, Response body: ${body}`);
  }
  if (status >= 200 && status < 300) return succeeded(body);
  const message = `HTTP probe failed with statuscode: ${status}`;
  // 408 says that no request came, perhaps because this process did not send it.
  return status === 408 ? silent(message) : failed(message);
}

function networkFailure(url: URL, error: Error): ProbeOutcome {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return outcomeOfSocketError(error, { host, port }, `Get ${JSON.stringify(url.href)}: `);
}

async function ask(url: URL, headers: HttpProbe['headers'], signal: AbortSignal): Promise<Answer> {
  const options: RequestOptions = {
    // No agent: each probe has a connection of its own, which ends with it.
    agent: false,
    headers: { ...headers, connection: 'close' },
    setHost: headers['host'] === undefined,
    signal,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Accepts malformed headers: only the status matters.
    insecureHTTPParser: true,
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, rejectUnauthorized: false }, resolve)
        : httpRequest(url, options, resolve);
    // Stays for errors after the answer has begun.
    request.on('error', reject);
    request.end();
  });
  const { statusCode: status = 0 } = response;
  return { status, location: response.headers.location, ...(await readBody(response, signal)) };
}

/** The beginning of the body, and why it is incomplete, if so. */
async function readBody(
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<Pick<Answer, 'body' | 'bodyProblem'>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_OUTPUT_BYTES) break;
    }
  } catch (error) {
    const bodyProblem = signal.aborted ? BODY_TOO_LATE : `unexpected EOF: ${messageOf(error)}`;
    return { body: textOf(chunks), bodyProblem };
  }
  return { body: textOf(chunks) };
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).subarray(0, MAX_OUTPUT_BYTES).toString('utf8');
}
