import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type MachineOptions } from '../../options/machine-options.js';

/** How the limits of a process are set; the defaults are the machine's. */
export interface LimitTools {
  readonly writeScore?: (score: number) => Promise<void>;
  readonly setOpenFiles?: (limit: number) => Promise<void>;
}

const run = promisify(execFile);
const DEADLINE_MS = 5_000;

/**
 * Sets the OOM score and the limit of open files of this process, as far as the options name them.
 *
 * A kubelet goes on where the kernel does not allow that, and so does this: the log says why. Never rejects.
 */
export async function settleOwnLimits(
  { oomScoreAdj, maxOpenFiles }: Pick<MachineOptions, 'oomScoreAdj' | 'maxOpenFiles'>,
  logger: Logger,
  { writeScore = writeOwnScore, setOpenFiles = limitOpenFiles }: LimitTools = {},
): Promise<void> {
  const settle = async (what: string, wanted: number | undefined, set: (wanted: number) => Promise<void>) => {
    if (wanted === undefined) return;
    await set(wanted).catch((error: unknown) => {
      logger.warn('Limit of the agent is not set', { limit: what, wanted, err: messageOf(error) });
    });
  };
  await settle('OOM score', oomScoreAdj, writeScore);
  await settle('open files', maxOpenFiles, setOpenFiles);
}

async function writeOwnScore(score: number): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', String(score));
}

/**
 * Limits the files of a process by prlimit(1) of util-linux, since Node has no such call. Rejects with its words.
 *
 * The hard limit is never lowered: a runtime that the process starts raises its own limit to that, and containers inherit it.
 */
export async function limitOpenFiles(limit: number, pid = process.pid): Promise<void> {
  const limits = await readFile(`/proc/${pid}/limits`, 'latin1');
  const hard = Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const args = ['--pid', String(pid), `--nofile=${limit}:${limit > hard ? limit : ''}`];
  await run('prlimit', args, { timeout: DEADLINE_MS, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } });
}
