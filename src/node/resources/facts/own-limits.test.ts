import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { limitOpenFiles, settleOwnLimits } from './own-limits.js';

function record() {
  const calls: string[] = [];
  const tools = {
    writeScore: async (score: number) => void calls.push(`score ${score}`),
    setOpenFiles: async (limit: number) => void calls.push(`files ${limit}`),
  };
  return { calls, tools, logger: new LogRecorder() };
}

it('sets what the options name, and nothing else', async () => {
  const { calls, tools, logger } = record();
  await settleOwnLimits({ oomScoreAdj: undefined, maxOpenFiles: undefined }, logger, tools);
  expect(calls).toEqual([]);
  await settleOwnLimits({ oomScoreAdj: -999, maxOpenFiles: 1_000_000 }, logger, tools);
  await settleOwnLimits({ oomScoreAdj: 0, maxOpenFiles: undefined }, logger, tools);
  expect(calls).toEqual(['score -999', 'files 1000000', 'score 0']);
  expect(logger.lines).toEqual([]);
});

it('goes on where the kernel refuses, and says so', async () => {
  const { calls, tools, logger } = record();
  const writeScore = () => Promise.reject(new Error('EACCES: permission denied'));
  await settleOwnLimits({ oomScoreAdj: -999, maxOpenFiles: 7 }, logger, { ...tools, writeScore });
  expect(calls).toEqual(['files 7']);
  expect(logger.lines.map(({ message, fields }) => [message, fields])).toEqual([
    ['Limit of the agent is not set', { limit: 'OOM score', wanted: -999, err: 'EACCES: permission denied' }],
  ]);
});

it('limits the files of a process, and rejects with the reason', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  try {
    await once(child, 'spawn');
    const { pid = 0 } = child;
    expect(pid).toBeGreaterThan(0);
    await limitOpenFiles(77, pid);
    const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
    // What it starts may still have more.
    const [, soft, hard] = /^Max open files +(\d+) +(\d+) /m.exec(limits)!;
    expect(soft).toBe('77');
    expect(Number(hard)).toBeGreaterThan(77);
    await expect(limitOpenFiles(2 ** 40, pid)).rejects.toThrow(/prlimit.*(Operation|Invalid)/s);
  } finally {
    child.kill('SIGKILL');
  }
});
