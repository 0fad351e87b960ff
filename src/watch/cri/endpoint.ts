import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';

import { PodloopError } from '#base/errors/errors.js';

/** Where a runtime listens. */
export interface Endpoint {
  /** `unix:///absolute/path`. */
  readonly url: string;
  readonly socketPath: string;
}

/** Where crictl looks by default: containerd, CRI-O, cri-dockerd. */
export const DEFAULT_SOCKET_PATHS: readonly string[] = [
  '/run/containerd/containerd.sock',
  '/run/crio/crio.sock',
  '/run/cri-dockerd.sock',
  '/var/run/cri-dockerd.sock',
];
/** Where the containerd listens that comes with k3s and rke2, k0s, microk8s; tried after those. */
const BUNDLED_SOCKET_PATHS: readonly string[] = [
  '/run/k3s/containerd/containerd.sock',
  '/run/k0s/containerd.sock',
  '/var/snap/microk8s/common/run/containerd.sock',
];

// Linux's sun_path holds 108 bytes and ends with a zero byte.
const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Parses `unix:///absolute/path` or `/absolute/path`; throws ENDPOINT_INVALID with a text that says what is
 * valid.
 */
export function parseEndpoint(text: string): Endpoint {
  const socketPath = text.startsWith('unix://') ? text.slice('unix://'.length) : text;
  const invalid = (why: string): PodloopError =>
    new PodloopError('ENDPOINT_INVALID', `runtime endpoint ${JSON.stringify(text)}: ${why}`);
  if (text === '') throw invalid('it is empty; use unix:///absolute/path.sock');
  if (text.startsWith('unix://') && !isAbsolute(socketPath)) {
    throw invalid(
      `after unix:// comes an absolute path, so three slashes: did you mean unix:///${socketPath}?`,
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(socketPath)?.[1];
  if (scheme !== undefined) throw invalid(`${scheme} is not supported; use unix:///absolute/path.sock`);
  if (!isAbsolute(socketPath)) throw invalid('the path is not absolute; use unix:///absolute/path.sock');
  if (socketPath.includes('\0')) throw invalid('the path contains a zero byte');
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH_BYTES) {
    throw invalid(`the path of a unix socket has at most ${MAX_SOCKET_PATH_BYTES} bytes`);
  }
  return { url: `unix://${socketPath}`, socketPath };
}

/**
 * Finds a runtime's socket at the usual paths. Throws ENDPOINT_NOT_FOUND with the paths that were tried.
 *
 * @param socketPaths tried in this order (default: {@link DEFAULT_SOCKET_PATHS}).
 */
export async function findEndpoint(
  socketPaths: readonly string[] = [...DEFAULT_SOCKET_PATHS, ...BUNDLED_SOCKET_PATHS],
): Promise<Endpoint> {
  for (const socketPath of socketPaths) {
    try {
      if ((await stat(socketPath)).isSocket()) return parseEndpoint(socketPath);
    } catch {
      // It does not exist or is not accessible: try the next one.
    }
  }
  throw new PodloopError(
    'ENDPOINT_NOT_FOUND',
    `no container runtime found: there is no socket at ${socketPaths.join(', ')}; start the runtime or name its socket with --runtime-endpoint (in a program: runtimeEndpoint)`,
  );
}
