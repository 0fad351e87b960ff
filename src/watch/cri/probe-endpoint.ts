import { type Channels } from '#base/channels/publishing-channel.js';
import { stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';

import { type Clock, SystemClock } from '#base/time/clock.js';
import { hasCode, messageOf, PodloopError } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';

import { CriClient } from './client.js';
import { type Endpoint, parseEndpoint } from './endpoint.js';
import { type VersionResponse } from './generated/runtime/v1/cri.js';

/** Options of {@link probeEndpoint}. */
export interface ProbeOptions {
  /** Where its calls are published (default: channels that nobody else has). */
  readonly channels?: Channels | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock;
  /** How long each of its two steps may take, in milliseconds (default: 10,000). */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
// The preface of an HTTP/2 client and an empty SETTINGS frame: the server answers with its own settings.
const HTTP2_GREETING = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
// A frame's header has nine bytes; the fourth is its type, 4 for SETTINGS.
const FRAME_HEADER_BYTES = 9;
const SETTINGS = 4;

/**
 * Checks whether a CRI v1 runtime listens at an endpoint, and returns its Version.
 *
 * Each way to fail gives one line that says what is wrong and what to do: ENDPOINT_INVALID,
 * ENDPOINT_NOT_FOUND (no socket), ENDPOINT_PERMISSION_DENIED, ENDPOINT_NOT_CRI (no gRPC there),
 * ENDPOINT_NO_CRI_V1 (gRPC without runtime.v1), CRI_UNAVAILABLE (nobody listens at the socket),
 * CRI_DEADLINE_EXCEEDED (it accepts but never answers).
 */
export async function probeEndpoint(text: string, options: ProbeOptions = {}): Promise<VersionResponse> {
  const { signal, clock = new SystemClock(), timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const endpoint = parseEndpoint(text);
  await assertSocket(endpoint);
  const greeting = await readGreeting(endpoint, { signal, clock, timeoutMs });
  if (!isHttp2(greeting)) {
    const isHttp1 = greeting.subarray(0, 5).toString('latin1') === 'HTTP/';
    throw notCri(
      endpoint,
      isHttp1
        ? "it speaks HTTP/1, as Docker's socket does"
        : greeting.length === 0
          ? 'it hangs up without a word, or is just ending'
          : 'it does not speak HTTP/2',
    );
  }
  const client = new CriClient({ endpoint: endpoint.url, channels: options.channels, clock, timeoutMs });
  try {
    return await client.version({}, { signal });
  } catch (error) {
    if (!hasCode(error, 'CRI_UNIMPLEMENTED')) throw error;
    // The gRPC library reports this for an HTTP answer that is not gRPC's.
    if (/HTTP status code/i.test(error.message))
      throw notCri(endpoint, 'it speaks HTTP/2 without gRPC', error);
    throw new PodloopError(
      'ENDPOINT_NO_CRI_V1',
      `the gRPC server at ${endpoint.url} does not serve runtime.v1: enable the runtime's CRI plugin (containerd: remove "cri" from disabled_plugins), or use containerd 1.6, CRI-O 1.20 or newer`,
      { cause: error },
    );
  } finally {
    client.close();
  }
}

interface Limits {
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Connecting to a file or a folder gives the same kernel error as a socket that nobody listens at. */
async function assertSocket(endpoint: Endpoint): Promise<void> {
  try {
    const found = await stat(endpoint.socketPath);
    if (found.isSocket()) return;
    throw notASocket(endpoint, found.isDirectory() ? 'a folder' : 'a file');
  } catch (error) {
    if (error instanceof PodloopError) throw error;
    throw toEndpointError(endpoint, error as NodeJS.ErrnoException);
  }
}

function notASocket(endpoint: Endpoint, what: string): PodloopError {
  return new PodloopError(
    'ENDPOINT_NOT_FOUND',
    `${endpoint.socketPath} is ${what}, no socket: name the runtime's socket, for containerd unix:///run/containerd/containerd.sock`,
  );
}

/**
 * Connects, sends HTTP/2's preface, and returns the first bytes of the answer; none if the other side hangs
 * up.
 */
async function readGreeting(endpoint: Endpoint, { signal, clock, timeoutMs }: Limits): Promise<Buffer> {
  signal?.throwIfAborted();
  let socket: Socket | undefined;
  let onAbort: (() => void) | undefined;
  let deadline: { cancel(): void } | undefined;
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      let received: Buffer = Buffer.alloc(0);
      socket = connect({ path: endpoint.socketPath });
      socket.on('connect', () => socket?.write(HTTP2_GREETING));
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        if (received.length >= FRAME_HEADER_BYTES) resolve(received);
      });
      socket.on('close', () => resolve(received));
      socket.on('error', (error: NodeJS.ErrnoException) => {
        // A server that hangs up on HTTP/2 is not a gRPC server, whatever it sent.
        if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve(received);
        else reject(toEndpointError(endpoint, error));
      });
      // A caller's abort reason is passed on as it is, whether or not it is an Error.
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      onAbort = () => reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      deadline = startFairDeadline({
        clock,
        deadlineMs: timeoutMs,
        onExpired: () => {
          const why = `something listens at ${endpoint.url} but says nothing: no HTTP/2 greeting within ${timeoutMs} ms; is the runtime stopped or hung?`;
          reject(new PodloopError('CRI_DEADLINE_EXCEEDED', why));
        },
      });
    });
  } finally {
    deadline?.cancel();
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
    socket?.destroy();
  }
}

function isHttp2(greeting: Buffer): boolean {
  return (
    greeting.length >= FRAME_HEADER_BYTES && greeting[3] === SETTINGS && greeting.readUIntBE(0, 3) % 6 === 0
  );
}

function notCri(endpoint: Endpoint, why: string, cause?: unknown): PodloopError {
  return new PodloopError(
    'ENDPOINT_NOT_CRI',
    `what listens at ${endpoint.url} is no CRI runtime: ${why}; name the runtime's own socket, for containerd unix:///run/containerd/containerd.sock`,
    { cause },
  );
}

function toEndpointError(endpoint: Endpoint, error: NodeJS.ErrnoException): PodloopError {
  const { url } = endpoint;
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new PodloopError(
        'ENDPOINT_NOT_FOUND',
        `there is no socket at ${url}: start the runtime, or name its socket with --runtime-endpoint (in a program: runtimeEndpoint)`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
      return new PodloopError(
        'ENDPOINT_PERMISSION_DENIED',
        `this user may not open ${url}: run as root, or as a member of the socket's group`,
        { cause: error },
      );
    case 'ECONNREFUSED':
      return new PodloopError(
        'CRI_UNAVAILABLE',
        `nobody listens at ${url}: the runtime is not running; start it`,
        { cause: error },
      );
    case 'ENOTSOCK':
    case 'EPROTOTYPE':
      return notCri(endpoint, 'it is no stream socket', error);
    default:
      return new PodloopError('CRI_UNAVAILABLE', `${url} cannot be reached: ${messageOf(error)}`, {
        cause: error,
      });
  }
}
