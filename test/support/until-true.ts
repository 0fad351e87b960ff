import { setTimeout as sleepFor } from 'node:timers/promises';
import { patiently } from './patience.js';

const LIMIT_MS = patiently(30_000);

/** Waits until it is so; a loaded machine gets time, a hang does not. */
export async function untilTrue(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + LIMIT_MS;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`in vain waited for ${condition.toString()}`);
    await sleepFor(1);
  }
}
