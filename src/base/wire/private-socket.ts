import { chmod, lstat, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { PodloopError } from '../errors/errors.js';
import { makeFolder } from '../fs/make-folder.js';

/** The longest path of a unix socket on Linux, without the final NUL. */
const MAX_SOCKET_PATH = 107;

/** A socket of one of our servers. */
export interface PrivateSocket {
  /** `unix:///path`, as clients write it. */
  readonly endpoint: string;
  /** Removes the socket from the file system, unless another one has replaced it. */
  remove(): Promise<void>;
}

/** The path in `unix:///path` or a bare absolute path. Throws OPTION_INVALID with `name`. */
export function parseSocketPath(endpoint: string, name: string): string {
  const path = endpoint.startsWith('unix://') ? endpoint.slice('unix://'.length) : endpoint;
  if (isAbsolute(path)) return path;
  throw new PodloopError('OPTION_INVALID', `${name} "${endpoint}" is not unix:///absolute/path.sock`);
}

/**
 * Makes a server listen on a unix socket that only its owner may open; `bind` listens on a given path.
 *
 * The socket is created in a private folder beside its final path and moved there once the server listens. So
 * nobody ever finds it unfinished or open to others, and the socket of a killed server is replaced in one
 * step. Where the file system has no room for that folder, the socket of a killed server makes room: if nobody else
 * may enter the folder of the socket, it is created there. Throws ENDPOINT_IN_USE if a server answers there.
 */
export async function listenPrivately(
  endpoint: string,
  bind: (path: string) => Promise<void>,
): Promise<PrivateSocket> {
  const path = parseSocketPath(endpoint, 'listen');
  await makeFolder(dirname(path));
  await assertFree(path);
  try {
    return await listenInWorkshop(path, bind);
  } catch (error) {
    // A server of gRPC does not say that the disk is full in a way that can be told from other errors.
    if (error instanceof PodloopError || !(await isPrivate(dirname(path)))) throw error;
    await rm(path, { force: true });
    return await listenAt(path, join(dirname(path), `.s${process.pid}`), bind);
  }
}

async function listenInWorkshop(path: string, bind: (path: string) => Promise<void>): Promise<PrivateSocket> {
  const workshop = await mkdtemp(join(dirname(path), '.s'));
  try {
    return await listenAt(path, join(workshop, 's'), bind);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

async function listenAt(
  path: string,
  draft: string,
  bind: (path: string) => Promise<void>,
): Promise<PrivateSocket> {
  for (const each of [draft, path]) assertShort(each);
  try {
    await bind(draft);
    await chmod(draft, 0o600);
    const { ino } = await lstat(draft, { bigint: true });
    await rename(draft, path);
    const remove = async (): Promise<void> => {
      const current = await lstat(path, { bigint: true }).catch(() => undefined);
      if (current?.ino === ino) await rm(path, { force: true });
    };
    return { endpoint: `unix://${path}`, remove };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Whether nobody else may enter a folder. */
async function isPrivate(folder: string): Promise<boolean> {
  const { uid, mode } = await stat(folder);
  return uid === process.geteuid?.() && (mode & 0o077) === 0;
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

/** Whether a process listens on the unix socket `path`: it accepts connections, whatever its protocol. */
export function answersAt(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (alive: boolean): void => {
      socket.destroy();
      resolve(alive);
    };
    socket.once('connect', () => settle(true));
    // EAGAIN: it exists, but is too busy for another connection.
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code === 'EAGAIN'));
  });
}
