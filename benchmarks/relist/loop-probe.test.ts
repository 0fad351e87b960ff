import { expect, it } from 'vitest';
import { longest, probeLoop, splitAt } from './loop-probe.js';

it('sees how long the loop was kept', async () => {
  const keepLoop = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    const end = performance.now() + 30;
    while (performance.now() < end);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const use = await probeLoop(keepLoop);
  expect(use.longestTurnMs).toBeGreaterThanOrEqual(30);
  expect(use.longestDelayMs).toBeGreaterThanOrEqual(25);
  expect(use.longestOwnMs).toBeNaN();
});

it('cuts the turn in which the last answer came', () => {
  const turns = [
    { beganMs: 0, endedMs: 4 },
    { beganMs: 4, endedMs: 10 },
    { beganMs: 10, endedMs: 11 },
  ];
  expect(splitAt(turns, 7)).toEqual([
    [
      { beganMs: 0, endedMs: 4 },
      { beganMs: 4, endedMs: 7 },
    ],
    [
      { beganMs: 7, endedMs: 10 },
      { beganMs: 10, endedMs: 11 },
    ],
  ]);
});

it('takes the pauses that lie in a stretch out of it', () => {
  const turns = [
    { beganMs: 0, endedMs: 10 },
    { beganMs: 10, endedMs: 16 },
  ];
  expect(longest(turns, [])).toBe(10);
  expect(longest(turns, [{ beganMs: 3, endedMs: 12 }])).toBe(4);
  expect(longest([], [])).toBe(0);
});
