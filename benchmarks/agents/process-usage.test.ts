import { expect, it } from 'vitest';
import { readProcessUsage, usageBetween } from './process-usage.js';

it('counts the work of a process, and holds its memory as it is', () => {
  const before = readProcessUsage(process.pid);
  const endMs = performance.now() + 30;
  while (performance.now() < endMs);
  const used = usageBetween(before, readProcessUsage(process.pid));
  expect(used.cpuMs).toBeGreaterThan(0);
  expect(used.wakeUps).toBeGreaterThanOrEqual(0);
  expect(used.rssMiB).toBeGreaterThan(10);
});

it('says that a process is gone', () => {
  expect(() => readProcessUsage(2 ** 30)).toThrow('ENOENT');
});
