import { expect, it } from 'vitest';
import { probeLoop } from './loop-probe.js';

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
});
