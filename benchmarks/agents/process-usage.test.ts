import { expect, it } from 'vitest';
import { readProcessUsage, type UsageReading, usageBetween } from './process-usage.js';

it('reads what a process has used', () => {
  const { cpuMs, rssMiB, sleeps } = readProcessUsage(process.pid);
  expect(cpuMs).toBeGreaterThan(0);
  expect(rssMiB).toBeGreaterThan(10);
  expect(sleeps.has(String(process.pid))).toBe(true);
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
