import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { countOpenFiles, sumProcessUsage } from './process-usage.js';

/** Returns true after this many calls. */
function overAfter(questions: number): () => boolean {
  return () => questions-- <= 0;
}

it('adds up the usage of processes, and omits those that are gone', async () => {
  const one = await sumProcessUsage([process.pid], () => false);
  const two = await sumProcessUsage([process.pid, 2 ** 22, process.pid], () => false);
  expect(one?.memory?.usageBytes).toBeGreaterThan(0n);
  expect(two?.pids?.threads).toBe(2n * (one?.pids?.threads ?? 0n));
});

it('returns nothing if the time is over before the end', async () => {
  const many = Array<number>(100).fill(process.pid);
  expect(await sumProcessUsage(many, overAfter(2))).toBeUndefined();
  expect(await sumProcessUsage(many, overAfter(4))).toBeDefined();
});

it('counts open files, unless the time is over', async () => {
  const { files = 0n } = (await countOpenFiles([process.pid], () => false)) ?? {};
  expect(Number(files)).toBeGreaterThanOrEqual(readdirSync('/proc/self/fd').length - 5);
  expect(await countOpenFiles([process.pid, process.pid], overAfter(1))).toBeUndefined();
});

it('does not count the open files of a process that may have replaced an exited one', async () => {
  const { files } = (await countOpenFiles([process.pid], () => false)) ?? {};
  const isStill = (pid: number): boolean => pid === process.pid;
  const both = await countOpenFiles([process.pid, process.ppid], () => false, isStill);
  expect(both?.files).toBe(files);
});
