import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { bootTicksAgo, computeBootTicks } from './boot-ticks.js';
import { findProcess } from './child-identity.js';

it.each([
  ['100.00 50.00\n', 0, 10_002],
  ['100.00 50.00\n', 1_000, 9_902],
  ['100.01 50.00\n', 5, 10_003],
  // A clock that was set back: never later than now.
  ['100.00 50.00\n', -60_000, 10_002],
])('computes ticks from %j and %d ms', (uptime, agoMs, expected) => {
  expect(computeBootTicks(uptime, agoMs)).toBe(expected);
});

it('is on the scale of start times', async () => {
  const before = bootTicksAgo(0);
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const started = Number(findProcess(child.pid!)!.startTicks);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(started).toBeLessThanOrEqual(bootTicksAgo(0));
  expect(started).toBeGreaterThanOrEqual(before - 4);
});
