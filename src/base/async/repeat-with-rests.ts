import { type Clock } from '../time/clock.js';

/** As often as a kubelet looks for what its node is short of. */
const PERIOD_MS = 10_000;
/** How many times as long as a look took nobody looks. */
const REST_FACTOR = 9;

/**
 * Looks every ten seconds, and more seldom when that takes long: a tenth of the time at most. The first time after ten
 * seconds. Resolves when the signal aborts; `look` must not reject.
 */
export async function repeatWithRests(
  clock: Pick<Clock, 'sleep' | 'monotonicMs'>,
  signal: AbortSignal,
  look: () => Promise<void>,
): Promise<void> {
  let restMs = PERIOD_MS;
  for (;;) {
    await clock.sleep(restMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    const startedMs = clock.monotonicMs();
    await look();
    restMs = Math.max(PERIOD_MS, REST_FACTOR * (clock.monotonicMs() - startedMs));
  }
}
