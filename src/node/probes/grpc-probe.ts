import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type DialAddress, outcomeOfSocketError } from './socket-error.js';
import { decodeHealthResponse, encodeHealthRequest } from './health-message.js';
import { failed, MAX_OUTPUT_BYTES, type ProbeOutcome, silent, succeeded } from './probe-outcome.js';

/** Options of {@link probeByGrpc}. */
export interface GrpcProbe {
  readonly clock: Clock;
  readonly address: DialAddress;
  /** Empty: the server as a whole. */
  readonly service: string;
  readonly userAgent: string;
  readonly timeoutMs: number;
}

/** gRPC's own numbers. */
const OK = 0;
const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

/**
 * Asks gRPC's health service, where SERVING is success, without TLS and over a connection of its own.
 *
 * This is one call with two small messages, so it speaks HTTP/2 itself: a gRPC client would bring reconnects,
 * proxies and connections shared with other probes.
 */
export async function probeByGrpc(probe: GrpcProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  const { clock, address, timeoutMs } = probe;
  signal.throwIfAborted();
  const where = joinHostPort(address);
  const within = formatGoDuration(timeoutMs);
  const session = connect(`http://${where}`);
  let hasConnected = false;
  session.once('connect', () => (hasConnected = true));
  const onAbort = (): void => session.destroy(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<ProbeOutcome>((resolve, reject) => {
      const deadline = startFairDeadline({
        clock,
        deadlineMs: timeoutMs,
        onExpired: () =>
          resolve(
            silent(
              hasConnected
                ? `timeout: health rpc did not complete within ${within}`
                : `timeout: failed to connect service ${JSON.stringify(where)} within ${within}: context deadline exceeded`,
            ),
          ),
      });
      session.once('close', () => deadline.cancel());
      const onError = (error: Error): void => {
        const prefix = hasConnected
          ? 'error: health rpc probe failed: '
          : `error: failed to connect service at ${JSON.stringify(where)}: `;
        if (signal.aborted) reject(error);
        else resolve(outcomeOfSocketError(error, address, prefix));
      };
      session.on('error', onError);
      // A server that does not speak HTTP/2 may end the connection without an error.
      session.once('close', () => onError(new Error('connection closed before an answer')));
      check(session, probe, within).then(resolve, onError);
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.destroy();
  }
}

async function check(session: ClientHttp2Session, probe: GrpcProbe, within: string): Promise<ProbeOutcome> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': probe.userAgent,
    'grpc-timeout': `${Math.ceil(probe.timeoutMs)}m`,
  });
  stream.end(encodeHealthRequest(probe.service));
  const { headers, trailers, body } = await readAnswer(stream);
  const httpStatus = Number(headers[':status']);
  if (httpStatus !== 200) {
    return failed(
      `error: health rpc probe failed: unexpected HTTP status code received from server: ${httpStatus}`,
    );
  }
  const status = Number(trailers['grpc-status'] ?? headers['grpc-status'] ?? Number.NaN);
  const message = decodeMessage(trailers['grpc-message'] ?? headers['grpc-message']);
  return judge(status, message, body, within);
}

function judge(status: number, message: string, body: Buffer, within: string): ProbeOutcome {
  if (status === UNIMPLEMENTED) {
    return failed(
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`,
    );
  }
  if (status === DEADLINE_EXCEEDED) return silent(`timeout: health rpc did not complete within ${within}`);
  if (status !== OK) {
    const text = `error: health rpc probe failed: rpc error: code = ${status} desc = ${message}`;
    return status === UNAVAILABLE || Number.isNaN(status) ? silent(text) : failed(text);
  }
  let serving: string;
  try {
    serving = decodeHealthResponse(body);
  } catch (error) {
    return failed(`error: health rpc probe failed: ${messageOf(error)}`);
  }
  if (serving !== 'SERVING') return failed(`service unhealthy (responded with ${JSON.stringify(serving)})`);
  return succeeded('service healthy');
}

interface GrpcAnswer {
  readonly headers: IncomingHttpHeaders & { ':status'?: number | undefined };
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function readAnswer(stream: ClientHttp2Stream): Promise<GrpcAnswer> {
  return await new Promise<GrpcAnswer>((resolve, reject) => {
    let headers: GrpcAnswer['headers'] = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('response', (given) => (headers = given));
    stream.on('trailers', (given: IncomingHttpHeaders) => (trailers = given));
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) stream.destroy(new Error('the answer is too long'));
      else chunks.push(chunk);
    });
    stream.on('end', () => resolve({ headers, trailers, body: Buffer.concat(chunks) }));
    stream.on('error', reject);
  });
}

/** gRPC percent-encodes messages, as in a URL. */
function decodeMessage(value: string | readonly string[] | undefined): string {
  const text = typeof value === 'string' ? value : (value?.[0] ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
