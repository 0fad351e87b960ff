import { readdir, readFile, readlink } from 'node:fs/promises';

/** What running pods leave on a host, counted from outside of the runtime. */
export interface HostTraces {
  /** Command lines of processes that name the folder or carry its mark. */
  readonly processes: readonly string[];
  /** Mount points on the host that name the folder. */
  readonly mounts: readonly string[];
  /** How many namespaces of each kind any process is in. */
  readonly namespaces: Readonly<Record<string, number>>;
  /** Network devices of this namespace. */
  readonly devices: readonly string[];
  /** Control groups whose path names the mark. */
  readonly cgroups: readonly string[];
}

const KINDS = ['mnt', 'net', 'ipc', 'uts', 'pid'];

/** Counts what of a runtime with its root below the folder is on this host. */
export async function countTraces(folder: string): Promise<HostTraces> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => (await readText(`/proc/${pid}/cmdline`)).replaceAll('\0', ' ')),
  );
  const namespaces: Record<string, number> = {};
  for (const kind of KINDS) {
    const links = await Promise.all(
      pids.map(async (pid) => readlink(`/proc/${pid}/ns/${kind}`).catch(() => '')),
    );
    namespaces[kind] = new Set(links.filter((link) => link !== '')).size;
  }
  const mounts = (await readText('/proc/self/mountinfo')).split('\n').map((line) => line.split(' ')[4] ?? '');
  return {
    processes: lines.filter((line) => line.includes(folder)),
    mounts: mounts.filter((mount) => mount.includes(folder)),
    namespaces,
    devices: (await readdir('/sys/class/net').catch(() => [])).sort(),
    cgroups: [],
  };
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
