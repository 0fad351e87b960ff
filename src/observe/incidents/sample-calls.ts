import { type Clock } from '#base/time/clock.js';
import { type CriClient } from '#watch';

/** How many calls in flight a sample names. */
const SAMPLED_CALLS = 10;

/** The calls that have no answer yet, the oldest first, as JSON can hold them. */
export function sampleCalls(client: Pick<CriClient, 'callsInFlight'>, clock: Clock): readonly object[] {
  const nowMs = clock.monotonicMs();
  return client
    .callsInFlight()
    .slice(0, SAMPLED_CALLS)
    .map(({ method, pod, containerId, startedAtMonotonicMs }) => ({
      // The caller's own object has more than the pod's names, and what JSON cannot hold.
      ...(pod === undefined ? {} : { pod: { uid: pod.uid, namespace: pod.namespace, name: pod.name } }),
      ...{ method, containerId, ageMs: Math.round(nowMs - startedAtMonotonicMs) },
    }));
}
