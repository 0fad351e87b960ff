import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { type CriClient, parseEndpoint } from '../cri/index.js';
import { hasCode, messageOf, PodloopError } from '../util/errors.js';

/** Who answers at an endpoint. */
export interface RuntimeIdentity {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
}

/** A runtime that has not said who it is after that long does not answer, in milliseconds. */
const ANSWER_LIMIT_MS = 10_000;

/**
 * Asks a runtime who it is, and finds out what is wrong when it does not say.
 *
 * Rejects with ENDPOINT_NOT_FOUND (no socket, or nobody listens), ENDPOINT_PERMISSION_DENIED, ENDPOINT_NOT_CRI (no
 * gRPC behind it), ENDPOINT_NO_CRI_V1 (gRPC, but no runtime.v1), and with CRI_DEADLINE_EXCEEDED when it takes the call
 * and does not answer. Each message names the endpoint.
 */
export async function checkRuntime(client: CriClient, signal?: AbortSignal): Promise<RuntimeIdentity> {
  const { url, socketPath } = parseEndpoint(client.endpoint);
  await checkSocket(socketPath, url);
  try {
    const { runtimeName, runtimeVersion } = await client.version(
      { version: 'v1' },
      { signal, timeoutMs: ANSWER_LIMIT_MS },
    );
    return { runtimeName, runtimeVersion };
  } catch (error) {
    throw explain(error, url);
  }
}

const START_IT = 'start the runtime, or name another socket with --runtime-endpoint';

/** Connects and hangs up: the kernel says most clearly what is wrong with a socket. */
async function checkSocket(socketPath: string, url: string): Promise<void> {
  const socket = connect(socketPath);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const cause = { cause: error };
    switch (code) {
      case 'ENOENT':
      case 'ENOTDIR':
        throw new PodloopError('ENDPOINT_NOT_FOUND', `there is no socket at ${url}; ${START_IT}`, cause);
      case 'ECONNREFUSED':
        if (!(await isSocket(socketPath))) {
          throw new PodloopError('ENDPOINT_NOT_CRI', `${url} is not a socket`, cause);
        }
        throw new PodloopError('ENDPOINT_NOT_FOUND', `nobody listens at ${url}; ${START_IT}`, cause);
      case 'EACCES':
      case 'EPERM':
        throw new PodloopError(
          'ENDPOINT_PERMISSION_DENIED',
          `permission denied: ${url} may not be opened by this user`,
          cause,
        );
      default:
        throw new PodloopError('CRI_UNAVAILABLE', `cannot connect to ${url}: ${messageOf(error)}`, cause);
    }
  } finally {
    socket.destroy();
  }
}

async function isSocket(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isSocket() === true;
}

function explain(error: unknown, url: string): unknown {
  if (hasCode(error, 'CRI_UNIMPLEMENTED')) {
    return new PodloopError('ENDPOINT_NO_CRI_V1', `what listens at ${url} does not serve CRI v1`, {
      cause: error,
    });
  }
  // The kernel has connected us by now, so whatever breaks the connection is no gRPC server, or one that just went.
  if (hasCode(error, 'CRI_UNAVAILABLE', 'CRI_INTERNAL', 'CRI_UNKNOWN', 'CRI_MALFORMED_RESPONSE')) {
    const message = `what listens at ${url} does not speak gRPC: ${messageOf(error)}`;
    return new PodloopError('ENDPOINT_NOT_CRI', message, { cause: error });
  }
  return error;
}
