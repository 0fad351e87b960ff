import { type Clock } from '../time/clock.js';

/** As often as a kubelet checks for a shortage of resources. */
const PERIOD_MS = 10_000;
/** The pause after a slow check, as a multiple of its duration. */
const REST_FACTOR = 9;

/**
 * Runs `look` every ten seconds, and less often if it is slow, so that it takes at most a tenth of the time.
 *
 * The first run is after ten seconds. Resolves when the signal aborts; `look` must not reject.
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
