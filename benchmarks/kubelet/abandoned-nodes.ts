import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readInstalled } from '../../test/containerd/harness/installed.js';
import { removeAbandonedInstances, unmountBelow } from '../../test/containerd/harness/leftovers.js';
import {
  findByArguments,
  findProcess,
  isAlive,
  type ProcessIdentity,
  signalProcess,
  waitUntilGone,
} from '../../test/containerd/harness/processes.js';

/** The temporary folders of all nodes begin with this. */
export const NODE_FOLDER_PREFIX = 'podloop-bench-node-';
/** In each such folder: the benchmark that made it. */
const OWNER_FILE = 'owner.json';
/** Below a node's folder, each an argument of a process that must not outlive it. */
const ARGUMENTS = ['kubelet.json', 'manifests', 'rules.json'];
const END_MS = 10_000;

/** Says that this process answers for the folder. */
export async function ownNodeFolder(folder: string): Promise<void> {
  await writeFile(path.join(folder, OWNER_FILE), JSON.stringify(await findProcess(process.pid)));
}

/** Removes what a benchmark that was killed has left: its agents, their mounts and files, and its containerds. */
export async function removeAbandonedNodes(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(NODE_FOLDER_PREFIX)) continue;
    const folder = path.join(tmpdir(), name);
    const text = await readFile(path.join(folder, OWNER_FILE), 'utf8').catch(() => undefined);
    if (text === undefined || (await isAlive(JSON.parse(text) as ProcessIdentity))) continue;
    await removeNodeFolder(folder);
  }
  await removeAbandonedInstances();
}

/** Ends what still works in the folder of a node, and removes it. */
export async function removeNodeFolder(folder: string): Promise<void> {
  const found = await Promise.all(ARGUMENTS.map((name) => findByArguments(path.join(folder, name))));
  const processes = found.flat();
  for (const each of processes) await signalProcess(each, 'SIGKILL');
  await waitUntilGone(processes, END_MS);
  // A kubelet mounts its root folder onto itself.
  await unmountBelow(folder, (await readInstalled()).busybox);
  await rm(folder, { recursive: true, force: true });
}
