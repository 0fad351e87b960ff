import { readdir, readFile, readlink } from 'node:fs/promises';

/** A process that listens at a port. */
export interface PortHolder {
  readonly pid: number;
  readonly name: string;
}

/** In the kernel's tables. */
const LISTENING = '0A';
/** A machine with more gets no answer, as it is only for a message. */
const MAX_PROCESSES = 20_000;

/**
 * The process that listens at a TCP port of this machine; undefined when unknown, as for other users'
 * processes.
 */
export async function findPortHolder(port: number): Promise<PortHolder | undefined> {
  try {
    const tables = await Promise.all(['tcp', 'tcp6'].map(async (name) => readTable(`/proc/net/${name}`)));
    const sockets = new Set(tables.flatMap((table) => listenersAt(table, port)));
    return sockets.size === 0 ? undefined : await findOwner(sockets);
  } catch {
    return undefined;
  }
}

async function readTable(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '');
}

/** Links of open files to such sockets. */
function listenersAt(table: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    return local.endsWith(`:${hex}`) && state === LISTENING ? [`socket:[${inode}]`] : [];
  });
}

async function findOwner(sockets: ReadonlySet<string>): Promise<PortHolder | undefined> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids.slice(0, MAX_PROCESSES)) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '');
      if (!sockets.has(target)) continue;
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
      return { pid: Number(pid), name: name.trim() };
    }
  }
  return undefined;
}
