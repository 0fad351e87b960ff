import { expect } from 'vitest';

/** Long enough for a loaded machine: what is not so by then does not become so. */
const LIMIT_MS = 100_000;

/** Asks until nothing is told any more; what is still told after a long time is the failure. */
export async function expectSoonNone(ask: () => Promise<readonly string[]>): Promise<void> {
  const untilMs = performance.now() + LIMIT_MS;
  let told = await ask();
  while (told.length > 0 && performance.now() < untilMs) {
    await pause(100);
    told = await ask();
  }
  expect(told).toEqual([]);
}

/** For that many milliseconds. */
export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
