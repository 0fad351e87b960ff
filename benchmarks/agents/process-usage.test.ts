import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { readProcessUsage, type UsageReading, usageBetween } from './process-usage.js';

it('reads what a process has used', () => {
  const { cpuMs, rssMiB, sleeps } = readProcessUsage(process.pid);
  expect(cpuMs).toBeGreaterThan(0);
  expect(rssMiB).toBeGreaterThan(10);
  expect(sleeps.has(String(process.pid))).toBe(true);
});

it('counts what the process has started, while it runs and when it has ended', async () => {
  const before = readProcessUsage(process.pid);
  // A shell that has a shell do the work, and stays.
  const burn = 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done';
  const shell = spawn('sh', ['-c', `sh -c '${burn}'; echo done; read line`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(shell.stdout, 'data');
  const ofShell = readProcessUsage(shell.pid!);
  expect(ofShell.cpuMs).toBeGreaterThan(50);
  const during = usageBetween(before, readProcessUsage(process.pid));
  expect(during.cpuMs).toBeGreaterThanOrEqual(ofShell.cpuMs);
  expect(readProcessUsage(process.pid).sleeps.has(String(shell.pid))).toBe(true);
  shell.stdin.end();
  await once(shell, 'close');
  const after = usageBetween(before, readProcessUsage(process.pid));
  expect(after.cpuMs).toBeGreaterThanOrEqual(ofShell.cpuMs);
  expect(readProcessUsage(process.pid).sleeps.has(String(shell.pid))).toBe(false);
});

it('counts threads that have come and passes over those that have ended', () => {
  const reading = (cpuMs: number, sleeps: Record<string, number>): UsageReading => ({
    ...{ cpuMs, rssMiB: 1 },
    sleeps: new Map(Object.entries(sleeps)),
  });
  const used = usageBetween(reading(100, { 1: 5, 2: 90 }), reading(130, { 1: 8, 3: 4 }));
  expect(used).toEqual({ cpuMs: 30, wakeUps: 7, rssMiB: 1 });
});

it('says that a process is gone', () => {
  expect(() => readProcessUsage(2 ** 30)).toThrow('ENOENT');
});
