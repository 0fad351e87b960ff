import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { volumeMeasured } from '#base/channels/volume-channels.js';

/** Many millions of files on a slow disk; what takes longer than this is not known. */
const LIMIT_MS = 10 * 60_000;
/** Whoever has something to do for pods goes first. */
const LOWEST_PRIORITY = 19;

/**
 * How much of the disk is used below a folder, in bytes: by blocks, so that holes count for nothing, a file of several
 * names once, and without following links or entering other file systems. Rejects when that cannot be told.
 *
 * du(1) does it, in a process of its own: folders deeper than any path can name, and millions of files, cost this one
 * nothing.
 */
export async function measureFolder(folder: string, signal: AbortSignal): Promise<bigint> {
  return (await runDu(['-k'], folder, signal)) * 1024n;
}

/** How many files and folders there are, of its file system and each once; as {@link measureFolder}, where du(1) is GNU's. */
export async function countInodes(folder: string, signal: AbortSignal): Promise<bigint> {
  return await runDu(['--inodes'], folder, signal);
}

/** The number that it tells of the folder, in what the flags ask for. */
async function runDu(flags: readonly string[], folder: string, signal: AbortSignal): Promise<bigint> {
  signal.throwIfAborted();
  const startedMs = performance.now();
  try {
    return await readDu(flags, folder, signal);
  } finally {
    volumeMeasured.publish({ durationMs: performance.now() - startedMs });
  }
}

async function readDu(flags: readonly string[], folder: string, signal: AbortSignal): Promise<bigint> {
  const child = spawn('du', ['-s', ...flags, '-x', '--', folder], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
    signal,
  });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  try {
    if (child.pid !== undefined) setPriority(child.pid, LOWEST_PRIORITY);
  } catch {
    // It has ended already.
  }
  const said = await Promise.race([text(child.stdout), failed]);
  // What goes away while it counts makes it complain, and it has counted nevertheless.
  const number = /^(\d+)\s/.exec(said)?.[1];
  if (number === undefined) throw new Error(`du cannot tell how much ${folder} uses`);
  return BigInt(number);
}
