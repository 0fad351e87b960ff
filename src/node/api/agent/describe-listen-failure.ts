import { readdir, readFile, readlink } from 'node:fs/promises';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { findSocketInode, findTcpListeners } from '#base/proc/net-tables.js';

/** A machine with more gets no answer, as it is only for a message. */
const MAX_PROCESSES = 20_000;

/** A process that listens at a port. */
interface PortHolder {
  readonly pid: number;
  readonly name: string;
}

/** Why listening at a port failed, and what to do: a sentence for people. */
export async function describeListenFailure(error: unknown, port: number): Promise<string> {
  switch (systemCodeOf(error)) {
    case 'EADDRINUSE': {
      const holder = await findPortHolder(port);
      const who = holder === undefined ? 'somebody else' : `${holder.name} (process ${holder.pid})`;
      return `${who} listens there; end that one, choose another port, or 0 for none`;
    }
    case 'EADDRNOTAVAIL':
      return 'the address is not of this machine';
    case 'EACCES':
      return 'this user may not listen at ports below 1024';
    default:
      return messageOf(error);
  }
}

/**
 * The process that listens at a TCP port of this machine; undefined when unknown, as for other users'
 * processes.
 */
async function findPortHolder(port: number): Promise<PortHolder | undefined> {
  try {
    const tables = await Promise.all(['tcp', 'tcp6'].map(async (name) => readTable(`/proc/net/${name}`)));
    const inodes = new Set(tables.flatMap((table) => findTcpListeners(table, port)));
    return inodes.size === 0 ? undefined : await findOwner(inodes);
  } catch {
    return undefined;
  }
}

async function readTable(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '');
}

async function findOwner(inodes: ReadonlySet<string>): Promise<PortHolder | undefined> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids.slice(0, MAX_PROCESSES)) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '');
      if (!inodes.has(findSocketInode(target) ?? '')) continue;
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
      return { pid: Number(pid), name: name.trim() };
    }
  }
  return undefined;
}
