import { chmod, lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { PodloopError } from '../errors/errors.js';
import { makeFolder } from '../fs/make-folder.js';

/** Longest path of a unix socket on Linux, without the final NUL. */
const MAX_SOCKET_PATH = 107;

/** A socket at which a server of ours listens. */
export interface PrivateSocket {
  /** `unix:///path`, as clients write it. */
  readonly endpoint: string;
  /** Takes the socket out of the file system, if it is still ours. */
  remove(): Promise<void>;
}

/** The path in `unix:///path` or a bare absolute path. Throws OPTION_INVALID with `name`. */
export function parseSocketPath(endpoint: string, name: string): string {
  const path = endpoint.startsWith('unix://') ? endpoint.slice('unix://'.length) : endpoint;
  if (isAbsolute(path)) return path;
  throw new PodloopError('OPTION_INVALID', `${name} "${endpoint}" is not unix:///absolute/path.sock`);
}

/**
 * Lets a server listen at a unix socket that only its owner may open; `bind` makes it listen at the path it is given.
 *
 * The socket is made in a private folder beside its place and moved there once it listens, so that nobody ever finds
 * it half made or open to others, and one that a killed server has left is replaced in one step. Throws
 * ENDPOINT_IN_USE when somebody answers at it.
 */
export async function listenPrivately(
  endpoint: string,
  bind: (path: string) => Promise<void>,
): Promise<PrivateSocket> {
  const path = parseSocketPath(endpoint, 'listen');
  await makeFolder(dirname(path));
  await assertFree(path);
  const workshop = await mkdtemp(join(dirname(path), '.s'));
  const draft = join(workshop, 's');
  try {
    for (const each of [draft, path]) assertShort(each);
    await bind(draft);
    await chmod(draft, 0o600);
    const { ino } = await lstat(draft, { bigint: true });
    await rename(draft, path);
    const remove = async (): Promise<void> => {
      const current = await lstat(path, { bigint: true }).catch(() => undefined);
      if (current?.ino === ino) await rm(path, { force: true });
    };
    return { endpoint: `unix://${path}`, remove };
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

function assertShort(path: string): void {
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return;
  throw new PodloopError('OPTION_INVALID', `the path ${path} is too long for a unix socket`);
}

async function assertFree(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts === undefined) return;
  if (!facts.isSocket()) {
    throw new PodloopError(
      'OPTION_INVALID',
      `${path} exists and is not a socket: ${basename(path)} is left alone`,
    );
  }
  if (await answersAt(path)) throw new PodloopError('ENDPOINT_IN_USE', `somebody listens at ${path} already`);
}

/** Whether a process listens at the unix socket `path`: that it can be connected to, whatever it speaks. */
export function answersAt(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (alive: boolean): void => {
      socket.destroy();
      resolve(alive);
    };
    socket.once('connect', () => settle(true));
    // EAGAIN: it is there, and too busy to take one more.
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code === 'EAGAIN'));
  });
}
