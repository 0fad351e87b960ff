import { execFile } from 'node:child_process';
import { readFile, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { type InstanceNames } from './config.js';
import {
  findByArguments,
  findByFolder,
  findDescendants,
  findProcess,
  isAlive,
  signalProcess,
  waitUntilGone,
  type ProcessIdentity,
} from './processes.js';

/** The temporary folders of all instances begin with this. */
export const FOLDER_PREFIX = 'podloop-containerd-';
/** In each such folder: whose it is and what else belongs to it. */
export const OWNER_FILE = 'owner.json';

/** What {@link OWNER_FILE} says. */
export interface OwnerFile {
  /** The test process that started the instance. */
  readonly owner: ProcessIdentity;
  readonly names: InstanceNames;
  readonly busybox: string;
}

const run = promisify(execFile);
const SHIM_SOCKETS = '/run/containerd/s';

/**
 * Removes everything of one instance: its processes (containerd, shims, containers, a kubelet or another program that
 * was given a file of its folder), mounts, bridge, cgroups and folder. Pods that still live are killed, so remove them through CRI first if it matters how they end.
 */
export async function removeInstance({ names, busybox }: OwnerFile): Promise<void> {
  await thaw(names);
  await killProcesses(names);
  await removeShimSockets(names);
  await unmountBelow(names.folder, busybox);
  await run(busybox, ['ip', 'link', 'set', names.bridge, 'down']).catch(() => undefined);
  await run(busybox, ['brctl', 'delbr', names.bridge]).catch(() => undefined);
  await removeCniResults(names);
  await removeCgroups(names);
  await rm(names.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** Removes the instances of test processes that are dead: what a killed test run left behind. */
export async function removeAbandonedInstances(): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const text = await readFile(path.join(tmpdir(), name, OWNER_FILE), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const file = JSON.parse(text) as OwnerFile;
    if (await isAlive(file.owner)) continue;
    await removeInstance(file);
    removed.push(name);
  }
  return removed;
}

/** What is still there of an instance, in words; empty after a thorough {@link removeInstance}. */
export async function findLeftovers(names: InstanceNames): Promise<string[]> {
  const found: string[] = [];
  for (const { pid } of await findOwnProcesses(names)) found.push(`process ${pid}`);
  for (const mount of await mountsBelow(names.folder)) found.push(`mount ${mount}`);
  for (const folder of await cgroupFolders(names)) found.push(`cgroup ${folder}`);
  const links: string[] = await readdir('/sys/class/net').catch(() => []);
  if (links.includes(names.bridge)) found.push(`bridge ${names.bridge}`);
  if ((await readdir(path.dirname(names.folder))).includes(path.basename(names.folder)))
    found.push(`folder ${names.folder}`);
  return found;
}

async function findOwnProcesses(names: InstanceNames): Promise<ProcessIdentity[]> {
  const containerds = await findByArguments('--config', path.join(names.folder, 'config.toml'));
  const shims = await findByArguments('-address', names.socket);
  return [...containerds, ...shims, ...(await findInCgroups(names)), ...(await findAgents(names))];
}

/** Kubelets and other programs that were given a file of the instance, without its shims. */
async function findAgents({ folder, socket }: InstanceNames): Promise<ProcessIdentity[]> {
  const shims = new Set((await findByArguments('-address', socket)).map(({ pid }) => pid));
  return (await findByFolder(folder)).filter(({ pid }) => !shims.has(pid));
}

/** Where a test freezes processes of an instance, on cgroup v1. */
export function freezerOf({ id }: InstanceNames): string {
  return `/sys/fs/cgroup/freezer/podloop-ice-${id}`;
}

/** A frozen process does not die before it is thawed. */
async function thaw(names: InstanceNames): Promise<void> {
  await writeFile(path.join(freezerOf(names), 'freezer.state'), 'THAWED').catch(() => undefined);
}

async function killProcesses(names: InstanceNames): Promise<void> {
  // A kubelet would start pods again, and containerd shims: they are first.
  await killAll(await findAgents(names));
  const containerds = await findByArguments('--config', path.join(names.folder, 'config.toml'));
  await killAll(containerds);
  const shims = await findByArguments('-address', names.socket);
  // A shim is the subreaper of its containers: all of them are its descendants.
  const containers = (await Promise.all(shims.map(findDescendants))).flat();
  await killAll([...containers, ...shims]);
  // A container whose creation was cut off has no shim any more; its cgroup still says whose it is.
  await killAll(await findInCgroups(names));
}

async function killAll(processes: readonly ProcessIdentity[]): Promise<void> {
  await Promise.all(processes.map((process_) => signalProcess(process_, 'SIGKILL')));
  if (await waitUntilGone(processes, 10_000)) return;
  throw new Error(`processes do not end: ${processes.map(({ pid }) => pid).join(', ')}`);
}

/** Shims of every containerd listen in one folder of the machine's; ours are named in their bundles. */
async function removeShimSockets({ state }: InstanceNames): Promise<void> {
  const tasks = path.join(state, 'io.containerd.runtime.v2.task');
  for (const namespace of await readdir(tasks).catch(() => [])) {
    for (const bundle of await readdir(path.join(tasks, namespace)).catch(() => [])) {
      for (const name of ['address', 'bootstrap.json']) {
        const text = await readFile(path.join(tasks, namespace, bundle, name), 'utf8').catch(() => '');
        const socket = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/.exec(text)?.[1];
        if (socket !== undefined) await rm(socket, { force: true });
      }
    }
  }
  // Only an empty folder goes; a containerd of the machine's makes it again when it needs it.
  await rmdir(SHIM_SOCKETS).catch(() => undefined);
  await rmdir(path.dirname(SHIM_SOCKETS)).catch(() => undefined);
}

async function mountsBelow(folder: string): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.map((line) => line.split(' ')[4] ?? '').filter((point) => point.startsWith(`${folder}/`));
}

/** Unmounts whatever lies below a folder, the latest first, by that busybox or the machine's umount; throws when something stays. */
export async function unmountBelow(folder: string, busybox?: string): Promise<void> {
  const [program, ...applet] = busybox === undefined ? ['umount'] : [busybox, 'umount'];
  for (let round = 0; round < 10; round++) {
    const mounts = await mountsBelow(folder);
    if (mounts.length === 0) return;
    // Latest first: it may lie on top of an earlier one.
    for (const point of mounts.reverse()) await run(program, [...applet, point]).catch(() => undefined);
    if (round > 0) await sleep(200);
  }
  throw new Error(`mounts are left: ${(await mountsBelow(folder)).join(', ')}`);
}

async function removeCniResults({ network }: InstanceNames): Promise<void> {
  const folder = '/var/lib/cni/results';
  for (const name of await readdir(folder).catch(() => [])) {
    if (name.startsWith(`${network}-`)) await rm(path.join(folder, name), { force: true });
  }
  // Both only when they are empty.
  await rmdir(folder).catch(() => undefined);
  await rmdir(path.dirname(folder)).catch(() => undefined);
}

async function cgroupFolders({ cgroupParent }: InstanceNames): Promise<string[]> {
  const root = '/sys/fs/cgroup';
  const controllers = await readdir(root, { withFileTypes: true }).catch(() => []);
  const candidates = [
    root,
    ...controllers.filter((entry) => entry.isDirectory()).map((entry) => path.join(root, entry.name)),
  ];
  const found: string[] = [];
  for (const candidate of candidates) {
    const folder = path.join(candidate, cgroupParent);
    if ((await readdir(folder).catch(() => undefined)) !== undefined) found.push(folder);
  }
  return found;
}

/** The processes in the cgroups of one instance: nobody else's cgroups have its id in their names. */
async function findInCgroups(names: InstanceNames): Promise<ProcessIdentity[]> {
  const pids = new Set<number>();
  for (const root of await cgroupFolders(names)) {
    const below = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
    const folders = below
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(entry.parentPath, entry.name));
    for (const folder of [root, ...folders]) {
      const text = await readFile(path.join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
      for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
    }
  }
  const found = await Promise.all([...pids].map(findProcess));
  return found.filter((process_) => process_ !== undefined);
}

async function removeCgroups(names: InstanceNames): Promise<void> {
  for (const folder of [...(await cgroupFolders(names)), freezerOf(names)]) await removeCgroup(folder);
}

async function removeCgroup(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) await removeCgroup(path.join(folder, entry.name));
  }
  // The kernel takes a moment after the last process of a group has gone.
  for (let round = 0; round < 50; round++) {
    const code = await rmdir(folder).then(
      () => undefined,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    if (code === undefined || code === 'ENOENT') return;
    await sleep(20);
  }
}
