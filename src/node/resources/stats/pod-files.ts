/**
 * Counts a pod's files on the node's disk that containers may write to outside of layers, logs and volumes.
 *
 * These are termination messages, /etc/hosts, and files that the runtime puts into containers, such as
 * /etc/hostname and /etc/resolv.conf.
 *
 * In: running pods. Out: bytes and files, of each container and of the pod as a whole. The agent's files are
 * everything in the pod's folder except the volumes. The runtime's files are found in the mounts of a running
 * container: writable ones on a disk, in a folder of its sandbox or of itself. It assumes that such a folder
 * has the id in its path, as with containerd, CRI-O and the embedded runtime; anything else belongs to
 * others.
 *
 * @module
 */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '#base/text/is-record.js';
import { type MountOrigin, parseMountOrigins, pathOfOrigin } from '#base/proc/mountinfo.js';

/** Disk usage of files, in blocks. */
export interface FilesUse {
  readonly bytes: number;
  readonly inodes: number;
}

/** The files of a pod. */
export interface PodFilesUse {
  /** Files that all containers of the pod share. */
  readonly pod: FilesUse;
  /** By the name of the container, over all its starts. */
  readonly containers: ReadonlyMap<string, FilesUse>;
}

/** A pod whose files are counted. */
export interface PodOfFiles {
  readonly uid: string;
  readonly sandboxId: string;
  /** The running ones. */
  readonly containers: readonly { readonly id: string; readonly name: string }[];
}

/** What {@link PodFiles} need. */
export interface PodFilesOptions {
  /** A pod's own folder on the node. */
  readonly podDir: (uid: string) => string;
  /** `info` of the container's verbose status; see {@link pidInInfo}. Nothing waits for it. */
  readonly inspect: (containerId: string) => Promise<string>;
  /** The text of /proc/PID/mountinfo. */
  readonly readMounts: (pid: number | 'self') => Promise<string>;
}

const NONE: FilesUse = { bytes: 0, inodes: 0 };
/** Below the pod's folder; counted as volumes, or belonging to others. */
const VOLUMES = /^volumes?(-|$)/;
const CONTAINERS = 'containers';
/** The agent's own folders are two levels deep; nobody else creates any there. */
const DEEPEST = 4;
/** Foreign pods are shown, too, and others choose their uids. */
const FOLDER_NAME = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,250}$/;
/** File systems that use no disk. */
const MEMORY = new Set([
  'tmpfs',
  'ramfs',
  'devtmpfs',
  'proc',
  'sysfs',
  'cgroup',
  'cgroup2',
  'mqueue',
  'devpts',
]);
const MAX_PIDS = 10_000;

/** See the module. */
export class PodFiles {
  readonly #options: PodFilesOptions;
  /** By the container's id. */
  readonly #pids = new Map<string, number>();
  readonly #inspected = new Set<string>();

  constructor(options: PodFilesOptions) {
    this.#options = options;
  }

  /**
   * Never rejects: unreadable files do not count.
   *
   * The files of the runtime count from the second call on, as the first does not wait for the runtime to
   * report a container's process.
   */
  async measure(pod: PodOfFiles): Promise<PodFilesUse> {
    const [own, origins] = await Promise.all([this.#ownFiles(pod.uid), this.#originsOf(pod)]);
    const containers = new Map(own.containers);
    let shared = own.pod;
    if (origins.length > 0) {
      const mounts = parseMountOrigins(await this.#options.readMounts('self').catch(() => ''));
      for (const { origin, container } of origins) {
        const path = pathOfOrigin(mounts, origin);
        const use = path === undefined ? NONE : await treeUse(path);
        if (container === undefined) shared = add(shared, use);
        else containers.set(container, add(containers.get(container) ?? NONE, use));
      }
    }
    return { pod: shared, containers };
  }

  async #ownFiles(uid: string): Promise<PodFilesUse> {
    const containers = new Map<string, FilesUse>();
    let pod = NONE;
    if (!FOLDER_NAME.test(uid)) return { pod, containers };
    const folder = this.#options.podDir(uid);
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      if (VOLUMES.test(name)) continue;
      if (name !== CONTAINERS) pod = add(pod, await treeUse(path));
      else for (const each of await namesIn(path)) containers.set(each, await treeUse(join(path, each)));
    }
    return { pod, containers };
  }

  /** Each once, however many containers have it. */
  async #originsOf(pod: PodOfFiles): Promise<{ origin: MountOrigin; container: string | undefined }[]> {
    const found = new Map<string, { origin: MountOrigin; container: string | undefined }>();
    for (const { id, name } of pod.containers) {
      const pid = this.#findPid(id);
      if (pid === undefined) continue;
      const text = await this.#options.readMounts(pid).catch(() => undefined);
      // It has ended, and another process may get its pid.
      if (text === undefined) this.#pids.delete(id);
      for (const origin of parseMountOrigins(text ?? '')) {
        const names = origin.root.split('/');
        const isOfContainer = names.includes(id);
        if (!isOfContainer && !names.includes(pod.sandboxId)) continue;
        if (origin.mountPoint === '/' || origin.isReadOnly || MEMORY.has(origin.fsType)) continue;
        found.set(`${origin.device} ${origin.root}`, { origin, container: isOfContainer ? name : undefined });
      }
    }
    return [...found.values()];
  }

  #findPid(containerId: string): number | undefined {
    const pid = this.#pids.get(containerId);
    if (pid !== undefined || this.#inspected.has(containerId)) return pid;
    this.#inspected.add(containerId);
    void this.#options
      .inspect(containerId)
      .then(
        (info) => {
          const told = pidInInfo(info);
          if (told !== undefined) this.#pids.set(containerId, told);
          if (this.#pids.size > MAX_PIDS) this.#pids.delete(this.#pids.keys().next().value!);
        },
        () => undefined,
      )
      .finally(() => this.#inspected.delete(containerId));
    return undefined;
  }
}

/** The process in the `info` of a container's verbose status; undefined if there is none. Pure. */
export function pidInInfo(info: string): number | undefined {
  try {
    const told: unknown = JSON.parse(info);
    const pid = isRecord(told) ? told['pid'] : undefined;
    return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** The size of a file, or of a folder with everything below it, without following links. */
async function treeUse(path: string, depth = 0): Promise<FilesUse> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts === undefined) return NONE;
  let use: FilesUse = { bytes: facts.blocks * 512, inodes: 1 };
  if (!facts.isDirectory() || depth >= DEEPEST) return use;
  for (const name of await namesIn(path)) use = add(use, await treeUse(join(path, name), depth + 1));
  return use;
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}

function add(one: FilesUse, other: FilesUse): FilesUse {
  return { bytes: one.bytes + other.bytes, inodes: one.inodes + other.inodes };
}
