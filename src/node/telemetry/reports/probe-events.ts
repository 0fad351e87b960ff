import { type Channels } from '#base/channels/publishing-channel.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { probeEnded, type ProbeEnd, probeNotRun } from '#base/channels/probe-channels.js';

/**
 * Records each failed probe in the words of Kubernetes' events, and each series of probes that could not be
 * run.
 *
 * Ends when the returned function is called.
 */
export function recordProbeFailures(
  channels: Channels,
  events: PodEventRecorder,
  isOurs: (podUid: string) => boolean,
): () => void {
  const record = (
    probe: Pick<ProbeEnd, 'podUid' | 'namespace' | 'podName' | 'containerName'>,
    words: { readonly reason: string; readonly message: string },
  ): void => {
    const { podUid: uid, namespace, podName: name, containerName: container } = probe;
    events.record({ uid, namespace, name }, { type: 'Warning', container, ...words });
  };
  const leaveEnded = channels.subscribe(probeEnded, (end) => {
    const words = describe(end);
    if (words !== undefined && isOurs(end.podUid)) record(end, words);
  });
  const leaveNotRun = channels.subscribe(probeNotRun, (probe) => {
    if (!isOurs(probe.podUid)) return;
    const times = probe.times === 1 ? 'once' : `${probe.times} times in a row`;
    const message = `${titleOf(probe.type)} probe could not be run ${times}, ${EFFECTS[probe.type]}: ${probe.message}`;
    record(probe, { reason: 'ProbeNotRun', message });
  });
  return () => {
    leaveEnded();
    leaveNotRun();
  };
}

/** What the missing result means for the container. */
const EFFECTS: Readonly<Record<ProbeEnd['type'], string>> = {
  liveness: 'so it does not restart the container',
  readiness: 'so the container stays as ready as it was',
  startup: 'so the container does not count as started',
};

function titleOf(type: ProbeEnd['type']): string {
  return type[0]!.toUpperCase() + type.slice(1);
}

function describe({ type, outcome, message }: ProbeEnd): { reason: string; message: string } | undefined {
  const title = titleOf(type);
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
