import { setTimeout as sleep } from 'node:timers/promises';
import { patiently } from '#support/patience.js';

const USUAL_LIMIT_MS = patiently(60_000);
const LOOK_EVERY_MS = 50;

/**
 * Waits until `look` gives something other than `undefined` or `false`, and gives that. What it throws counts as "not yet"
 * and is told when it never comes.
 */
export async function untilAsync<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  limitMs = USUAL_LIMIT_MS,
): Promise<T> {
  const giveUpAt = performance.now() + limitMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`in vain waited ${limitMs / 1_000}s for ${what}`, { cause: last });
    }
    await sleep(LOOK_EVERY_MS);
  }
}
