import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type HostFiles } from '../facts/host-files.js';
import { inBatches, listPids, parseProcess } from '../facts/process-table.js';
import { type InotifyFacts } from './host-facts.js';
import { type ProcessOwners } from './process-owners.js';

/** What the kernel says of inotify(7): no instance is left (EMFILE), no watch is left (ENOSPC). */
const USED_UP: Readonly<Record<string, InotifyFacts['usedUp']>> = { EMFILE: 'instances', ENOSPC: 'watches' };
const MAX_HOLDERS = 3;
/** More open files than that are not searched. */
const MAX_FILES = 100_000;
/** Each thread has an instance of its own, and keeps it: that of the program may be from a time when there were more. */
const ATTEMPT = `const { parentPort } = require('node:worker_threads');
try {
  require('node:fs').watch('/proc/sys', { persistent: false }).close();
  parentPort.postMessage('');
} catch (error) {
  parentPort.postMessage(error.code ?? String(error));
}`;

/**
 * Whether the user of this program can watch one more file: it tries that with the folder /proc/sys, and lets go at once.
 *
 * Rejects for other users than root, as the runtime and the kubelet are root's and each user has limits of its own.
 */
export async function readInotify(
  files: HostFiles,
  owners: ProcessOwners,
  { tryWatch = watchOnce, isRoot = process.getuid?.() === 0 } = {},
): Promise<InotifyFacts> {
  if (!isRoot) throw new Error('EACCES: inotify is counted for each user');
  const limitOf = async (name: string): Promise<number> =>
    Number((await files.find(`/proc/sys/fs/inotify/max_user_${name}`)) ?? 0);
  const limits = { instances: await limitOf('instances'), watches: await limitOf('watches') };
  const code = await files.within(tryWatch());
  if (code === '') return limits;
  const usedUp = USED_UP[code];
  if (usedUp === undefined) throw new Error(`${code}: /proc/sys cannot be watched`);
  return usedUp === 'watches'
    ? { ...limits, usedUp }
    : { ...limits, usedUp, holders: await findHolders(files, owners) };
}

/** The code of the error; empty where it succeeds. */
async function watchOnce(): Promise<string> {
  const thread = new Worker(ATTEMPT, { eval: true, stdin: false });
  try {
    const [code] = (await once(thread, 'message')) as [string];
    return code;
  } finally {
    await thread.terminate();
  }
}

/** Root's processes with the most instances, as links in their folders of open files. */
async function findHolders(
  files: HostFiles,
  owners: ProcessOwners,
): Promise<NonNullable<InotifyFacts['holders']>> {
  const counted: { readonly pid: number; readonly instances: number }[] = [];
  let read = 0;
  for (const pid of await listPids(files)) {
    const names = await files.list(`/proc/${pid}/fd`).catch(() => []);
    read += names.length;
    if (read > MAX_FILES) break;
    const links = await inBatches(names, async (name) => files.findLink(`/proc/${pid}/fd/${name}`));
    const instances = links.filter((link) => link === 'anon_inode:inotify').length;
    if (instances > 0 && (await isOfRoot(files, pid))) counted.push({ pid, instances });
  }
  const most = counted.sort((a, b) => b.instances - a.instances).slice(0, MAX_HOLDERS);
  return await Promise.all(
    most.map(async ({ pid, instances }) => ({
      ...{ pid, command: parseProcess((await files.find(`/proc/${pid}/stat`)) ?? '')?.command ?? '' },
      ...{ instances, ...(await owners.find(pid)) },
    })),
  );
}

async function isOfRoot(files: HostFiles, pid: number): Promise<boolean> {
  return /^Uid:\s+0\s/m.test((await files.find(`/proc/${pid}/status`)) ?? '');
}
