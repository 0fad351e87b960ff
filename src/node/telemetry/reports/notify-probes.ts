import { type Pleg } from '#watch';
import { type ProbeManager } from '../../probes/probe-manager.js';

/** What {@link notifyProbes} needs. */
export interface NotifyProbesOptions {
  readonly pleg: Pick<Pleg, 'subscribe'>;
  readonly probes: Pick<ProbeManager, 'podChanged'>;
}

/**
 * Notifies probes of new containers at once, so that they need not wait for their next check; until the
 * signal aborts.
 */
export async function notifyProbes(given: NotifyProbesOptions, signal: AbortSignal): Promise<void> {
  await using events = given.pleg.subscribe();
  signal.addEventListener('abort', () => events.close(), { once: true });
  for await (const event of events) {
    if ('pod' in event) given.probes.podChanged(event.pod.uid);
  }
}
