import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

const NAMESPACES = ['mnt', 'net', 'ipc', 'uts', 'pid_for_children'];
const CGROUPS = '/sys/fs/cgroup';
/** Tree, parent, pod. */
const CGROUP_DEPTH = 3;

/**
 * What the pods of a runtime leave on a host, seen from outside of it. Other runtimes may be at work beside it: only
 * what is known to be of this one counts.
 */
export class HostTraces {
  /** The folder in which everything of the runtime lies. */
  readonly #folder: string;
  readonly #root: string;
  readonly #pods = new Set<string>();
  /** Pid and start time. */
  readonly #processes = new Set<string>();

  constructor({ folder, root }: { readonly folder: string; readonly root: string }) {
    this.#folder = folder;
    this.#root = root;
  }

  /** Notes what the pods that there are now have of the host's: call it while they run. */
  async note(): Promise<void> {
    const namespaces = new Set<string>();
    for (const pod of await readdir(join(this.#root, 'sandboxes')).catch(() => [])) {
      this.#pods.add(pod);
      const holder = /^(\d+) \(/m.exec(await readText(join(this.#root, 'sandboxes', pod, 'holder')))?.[1];
      if (holder !== undefined) for (const each of await namespacesOf(holder)) namespaces.add(each);
    }
    for (const each of await namespacesOf('self')) namespaces.delete(each);
    // The processes and not the namespaces: the kernel gives a namespace's number again as soon as it is gone.
    for (const pid of await processIds())
      if ((await namespacesOf(pid)).some((each) => namespaces.has(each)))
        this.#processes.add(await identityOf(pid));
  }

  /** How many processes were seen in namespaces of the pods. */
  get processCount(): number {
    return this.#processes.size;
  }

  /** A sentence for everything that is still there. */
  async findLeft(): Promise<string[]> {
    const left: string[] = [];
    for (const pid of await processIds()) {
      const line = (await readText(`/proc/${pid}/cmdline`)).replaceAll('\0', ' ');
      const isOurs = line.includes(this.#folder) || this.#processes.has(await identityOf(pid));
      // A dead one waits for its parent, which may be the machine's first process and in no hurry.
      if (isOurs && !(await isDead(pid))) left.push(`process ${pid}: ${line}`);
    }
    const mounts = (await readText('/proc/self/mountinfo')).split('\n');
    left.push(...mounts.filter((mount) => mount.includes(this.#folder)));
    const groups = await foldersBelow(CGROUPS, CGROUP_DEPTH);
    left.push(...groups.filter((group) => [...this.#pods].some((pod) => group.endsWith(pod))));
    return left;
  }
}

async function processIds(): Promise<string[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
}

async function identityOf(pid: string): Promise<string> {
  const stat = await readText(`/proc/${pid}/stat`);
  const startTicks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'gone';
  return `${pid} ${startTicks}`;
}

async function isDead(pid: string): Promise<boolean> {
  const stat = await readText(`/proc/${pid}/stat`);
  return stat === '' || stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

async function namespacesOf(pid: string): Promise<string[]> {
  return Promise.all(
    NAMESPACES.map(async (kind) => readlink(`/proc/${pid}/ns/${kind}`).catch(() => 'gone')),
  ).then((links) => links.filter((link) => link !== 'gone' && link !== ''));
}

async function foldersBelow(folder: string, depth: number): Promise<string[]> {
  if (depth === 0) return [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  const below = await Promise.all(folders.map(async (each) => foldersBelow(each, depth - 1)));
  return [...folders, ...below.flat()];
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
