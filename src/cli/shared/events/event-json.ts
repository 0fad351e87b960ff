import { type ContainerLifecycleEvent, type PodLifecycleEvent } from '#node';
import { formatRfc3339 } from '#base/time/rfc3339.js';

/**
 * An event as `-o json` prints it: plain data, keys that have no value left out.
 *
 * `time` is when podloop saw it and `occurredAt` when it happened by the runtime's clock (both RFC 3339);
 * `latencyMs` lies between them and is left out of the first look, which shows what happened before podloop came.
 */
export function toEventRecord(event: PodLifecycleEvent): Record<string, unknown> {
  const base = { time: new Date(event.observedAtMs).toISOString(), type: event.type };
  switch (event.type) {
    case 'Resync':
      return { ...base, folded: event.folded, trigger: event.trigger };
    case 'PodSync':
      return { ...base, pod: podOf(event), folded: event.folded, trigger: event.trigger };
    case 'ConditionMet':
      return { ...base, pod: podOf(event), condition: event.conditionKey, trigger: event.trigger };
    case 'ContainerStarted':
    case 'ContainerDied':
    case 'ContainerRemoved':
    case 'ContainerChanged':
      return withoutUndefined({
        ...base,
        kind: event.kind,
        pod: podOf(event),
        containerId: event.containerId,
        container: event.containerName,
        exitCode: event.exitCode,
        reason: event.reason === '' ? undefined : event.reason,
        trigger: event.trigger,
        owner: event.owner,
        occurredAt: event.occurredAtNs === undefined ? undefined : formatRfc3339(event.occurredAtNs),
        latencyMs: latencyMsOf(event),
      });
  }
}

/** Milliseconds from the runtime's own timestamp to the event; undefined where that says nothing. */
export function latencyMsOf(event: ContainerLifecycleEvent): number | undefined {
  if (event.occurredAtNs === undefined || event.trigger === 'initial') return undefined;
  const observedNs = BigInt(Math.round(event.observedAtMs * 1000)) * 1000n;
  return Number(observedNs - event.occurredAtNs) / 1e6;
}

function podOf(event: Exclude<PodLifecycleEvent, { type: 'Resync' }>): Record<string, string> {
  const { uid, namespace, name } = event.pod;
  return { uid, namespace, name };
}

function withoutUndefined(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
