import { type Publisher, publishTo } from '#base/channels/publishing-channel.js';
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { volumeMeasured } from '#base/channels/volume-channels.js';

/** Many millions of files on a slow disk; a longer measurement gives no result. */
const LIMIT_MS = 10 * 60_000;
/** Work for pods goes first. */
const LOWEST_PRIORITY = 19;

/**
 * Disk usage below a folder, in bytes. Rejects when it is unknown.
 *
 * It counts blocks, so that holes do not count, and a file with several names once. It follows no links and
 * enters no other file systems. du(1) runs in a process of its own: folders deeper than any path, and
 * millions of files, cost this process nothing.
 */
export async function measureFolder(
  folder: string,
  signal: AbortSignal,
  channels?: Publisher['channels'],
): Promise<bigint> {
  return (await runDu(['-k'], folder, signal, channels)) * 1024n;
}

/**
 * The number of files and folders in its file system, each once; like {@link measureFolder}, if du(1) is
 * GNU's.
 */
export async function countInodes(
  folder: string,
  signal: AbortSignal,
  channels?: Publisher['channels'],
): Promise<bigint> {
  return await runDu(['--inodes'], folder, signal, channels);
}

/** The number that du(1) prints for the folder, in the unit of the flags. */
async function runDu(
  flags: readonly string[],
  folder: string,
  signal: AbortSignal,
  channels: Publisher['channels'],
): Promise<bigint> {
  signal.throwIfAborted();
  const startedMs = performance.now();
  try {
    return await readDu(flags, folder, signal);
  } finally {
    publishTo(channels, volumeMeasured, { durationMs: performance.now() - startedMs });
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
  // Files that disappear during the count cause complaints, but it has counted nevertheless.
  const number = /^(\d+)\s/.exec(said)?.[1];
  if (number === undefined) throw new Error(`du cannot measure how much ${folder} uses`);
  return BigInt(number);
}
