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
  readonly #namespaces = new Set<string>();
  readonly #bridges = new Set<string>();

  constructor({ folder, root }: { readonly folder: string; readonly root: string }) {
    this.#folder = folder;
    this.#root = root;
  }

  /** Notes what the pods that there are now have of the host's: call it while they run. */
  async note(): Promise<void> {
    const own = await namespacesOf('self');
    for (const pod of await readdir(join(this.#root, 'sandboxes')).catch(() => [])) {
      this.#pods.add(pod);
      const holder = await readText(join(this.#root, 'sandboxes', pod, 'holder'));
      const pid = /^(\d+) \(/m.exec(holder)?.[1];
      if (pid === undefined) continue;
      for (const namespace of await namespacesOf(pid))
        if (!own.includes(namespace)) this.#namespaces.add(namespace);
    }
    const bridge = /podloop[0-9a-f]+/.exec(await readText(join(this.#root, 'network', 'bridge.json')));
    if (bridge !== null) this.#bridges.add(bridge[0]);
  }

  /** How many namespaces were noted. */
  get namespaceCount(): number {
    return this.#namespaces.size;
  }

  /** A sentence for everything that is still there. */
  async findLeft(): Promise<string[]> {
    const left: string[] = [];
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const line = (await readText(`/proc/${pid}/cmdline`)).replaceAll('\0', ' ');
      if (line.includes(this.#folder)) left.push(`process ${pid}: ${line}`);
      for (const namespace of await namespacesOf(pid))
        if (this.#namespaces.has(namespace)) left.push(`process ${pid} is in ${namespace}: ${line}`);
    }
    const mounts = (await readText('/proc/self/mountinfo')).split('\n');
    left.push(...mounts.filter((mount) => mount.includes(this.#folder)));
    const groups = await foldersBelow(CGROUPS, CGROUP_DEPTH);
    left.push(...groups.filter((group) => [...this.#pods].some((pod) => group.endsWith(pod))));
    const devices = await readdir('/sys/class/net').catch(() => []);
    left.push(...devices.filter((device) => this.#bridges.has(device)));
    return left;
  }
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
