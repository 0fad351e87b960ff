import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { type HostFiles } from './host-files.js';

/** Containerds on one machine. */
const MAX_ADDRESSES = 20;
const CONNECT_LIMIT_MS = 1_000;

/** The path in an address of a containerd, which may stand there as a URL. */
const pathOf = (address: string): string => address.replace(/^unix:\/\//, '');

/**
 * Those addresses of shims that mean the same socket as a path of this process, however they are spelled: through a
 * link (/var/run), as a URL, or below a root that is mounted elsewhere.
 */
export async function findSameSocket(
  files: HostFiles,
  socketPath: string,
  addresses: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const own = await files.within(stat(socketPath)).catch(() => undefined);
  const same = new Set<string>();
  for (const address of addresses) {
    const other = await files
      .within(files.locate(pathOf(address)).then((path) => stat(path)))
      .catch(() => undefined);
    const isSame =
      own === undefined || other === undefined
        ? pathOf(address) === socketPath
        : own.dev === other.dev && own.ino === other.ino;
    if (isSame) same.add(address);
  }
  return same;
}

/** The addresses at which nobody listens, without those that cannot be checked. */
export async function findDeadAddresses(
  files: HostFiles,
  addresses: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const dead = new Set<string>();
  for (const address of [...addresses].slice(0, MAX_ADDRESSES)) {
    const path = await files.within(files.locate(pathOf(address))).catch(() => undefined);
    if (path === undefined || !path.startsWith('/')) continue;
    const failure = await files.within(connectOnce(path), CONNECT_LIMIT_MS).catch(() => undefined);
    if (failure === 'ENOENT' || failure === 'ECONNREFUSED') dead.add(address);
  }
  return dead;
}

/** Opens a connection and hangs up without a word. Resolves with the code of the failure, or with undefined. */
function connectOnce(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.unref();
  });
}
