import { type PodEventRecorder } from '../model/pod-event-recorder.js';
import { probeEnded, type ProbeEnd } from '../util/probe-channels.js';

/** Tells of every probe that failed, in the words of Kubernetes' events, until the returned function is called. */
export function recordProbeFailures(
  events: PodEventRecorder,
  isOurs: (podUid: string) => boolean,
): () => void {
  return probeEnded.subscribe((end) => {
    const words = describe(end);
    if (words === undefined || !isOurs(end.podUid)) return;
    const pod = { uid: end.podUid, namespace: end.namespace, name: end.podName };
    events.record(pod, { type: 'Warning', container: end.containerName, ...words });
  });
}

function describe({ type, outcome, message }: ProbeEnd): { reason: string; message: string } | undefined {
  const title = type[0]!.toUpperCase() + type.slice(1);
  switch (outcome) {
    case 'failure':
      return { reason: 'Unhealthy', message: `${title} probe failed: ${message}` };
    case 'error':
      return {
        reason: 'Unhealthy',
        message: `${title} probe errored and resulted in unknown state: ${message}`,
      };
    case 'warning':
      return { reason: 'ProbeWarning', message: `${title} probe warning: ${message}` };
    default:
      return undefined;
  }
}
