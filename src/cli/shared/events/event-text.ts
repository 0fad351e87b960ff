import { type PodLifecycleEvent } from '#node';
import { formatGoDuration } from '#base/time/go-duration.js';
import { formatKlogLine } from '#base/log/klog-text.js';
import { type SourcePlaces } from '#base/log/source-places.js';
import { latencyMsOf } from './event-json.js';

/** How {@link formatEventText} writes. */
export interface EventTextOptions {
  readonly pid: number;
  readonly places: SourcePlaces;
  /** Adds kind, owner, trigger and latency to every line. */
  readonly wide: boolean;
}

/**
 * An event as the kubelet logs it: `"SyncLoop (PLEG): event for pod" pod="ns/name" event={"ID":…}`, then what the
 * kubelet leaves out (podUID, containerName, exitCode, reason).
 *
 * The keys that the kubelet prints come first and in its order, so that a pattern made for its log matches.
 */
export function formatEventText(event: PodLifecycleEvent, options: EventTextOptions): string {
  const place = options.places.find();
  const line = { level: 'I', atMs: event.observedAtMs, pid: options.pid, place } as const;
  if (event.type === 'Resync') {
    const fields = { folded: event.folded, trigger: options.wide ? event.trigger : undefined };
    return formatKlogLine({ ...line, message: 'SyncLoop (PLEG): resync all pods', fields });
  }
  const { pod } = event;
  const kubelet = { ID: pod.uid, Type: event.type, Data: 'containerId' in event ? event.containerId : null };
  const fields = { pod, event: kubelet, podUID: pod.uid, ...ownFields(event, options.wide) };
  return formatKlogLine({ ...line, message: 'SyncLoop (PLEG): event for pod', fields });
}

function ownFields(
  event: Exclude<PodLifecycleEvent, { type: 'Resync' }>,
  wide: boolean,
): Record<string, unknown> {
  const { trigger } = event;
  switch (event.type) {
    case 'PodSync':
      return { folded: event.folded > 0 ? event.folded : undefined, ...(wide ? { trigger } : {}) };
    case 'ConditionMet':
      return { condition: event.conditionKey, ...(wide ? { trigger } : {}) };
    case 'ContainerStarted':
    case 'ContainerDied':
    case 'ContainerRemoved':
    case 'ContainerChanged': {
      const isSandbox = event.kind === 'sandbox';
      const latencyMs = latencyMsOf(event);
      return {
        // The name of a sandbox is the pod's, which the line has already.
        containerName: isSandbox ? undefined : event.containerName,
        exitCode: isSandbox ? undefined : event.exitCode,
        reason: event.reason === '' ? undefined : event.reason,
        kind: isSandbox || wide ? event.kind : undefined,
        ...(wide ? { owner: event.owner, trigger } : {}),
        latency: wide && latencyMs !== undefined ? formatGoDuration(latencyMs) : undefined,
      };
    }
  }
}
