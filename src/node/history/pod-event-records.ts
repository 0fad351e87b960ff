import { type ProbeResult, titleOf } from '../probes/probe-result.js';
import { podStatusChanged } from '../status/status-changes.js';
import { type JournalRecord, type RecordMaker } from '#history';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { podEventRecorded } from '../telemetry/reports/pod-event-log.js';

/** Records the events of pods in Kubernetes' words, until the returned function is called. */
export function recordPodEvents({ channels, clock, repeats }: RecordMaker): () => void {
  return channels.subscribe(podEventRecorded, ({ pod, about: object, type, reason, message, container }) => {
    const key = `event ${JSON.stringify([pod.uid, container, type, reason, message])}`;
    // The publisher may have passed all metadata of the pod.
    const { uid, namespace, name } = pod;
    const about = {
      pod: { uid, namespace, name },
      ...(object === undefined ? {} : { about: object }),
      ...(container === undefined ? {} : { container }),
    };
    repeats.fold(key, { atMs: clock.now(), kind: 'event', type, reason, message, ...about });
  });
}

/** Records each restart of a container, until the returned function is called. */
export function recordRestarts({ channels, clock, append, findPod }: RecordMaker): () => void {
  /** The restart counts of each pod's containers. */
  const known = new Map<string, ReadonlyMap<string, number>>();
  return channels.subscribe(podStatusChanged, (change) => {
    if (change.type === 'removed') known.delete(change.pod.uid);
    if (change.type !== 'status') return;
    const { pod, status } = change.record;
    if (findPod(pod.uid) === undefined) return;
    const before = known.get(pod.uid);
    const containers = containersOf(status);
    known.set(pod.uid, new Map(containers.map(({ name, restartCount }) => [name, restartCount])));
    for (const container of containers) {
      // Earlier restarts happened under another agent.
      const count = before?.get(container.name);
      if (count === undefined || container.restartCount <= count) continue;
      append({ ...describeRestart(container), atMs: clock.now(), pod });
    }
  });
}

/** Without a failed probe: the container has ended, or is starting. */
const UNREADY = 'Container is not ready any more';

/** Converts a changed probe result to a record. */
export function toProbeRecord(result: ProbeResult): Omit<JournalRecord, 'atMs' | 'pod'> {
  const { type, result: outcome, containerName, containerId, message } = result;
  const failed = outcome === 'failure';
  return {
    ...{ kind: 'probe', type: failed ? 'Warning' : 'Normal', container: containerName },
    reason: `${titleOf(type)}${failed ? 'Failed' : 'Succeeded'}`,
    message: message !== '' ? message : failed ? UNREADY : `${titleOf(type)} probe succeeded`,
    details: { containerId, probe: type },
  };
}

function containersOf({ initContainerStatuses, containerStatuses }: V1PodStatus): V1ContainerStatus[] {
  return [...(initContainerStatuses ?? []), ...containerStatuses];
}

function describeRestart({
  name,
  restartCount,
  lastState,
}: V1ContainerStatus): Omit<JournalRecord, 'atMs' | 'pod'> {
  const { exitCode, reason } = lastState.terminated ?? {};
  const end =
    exitCode === undefined
      ? ''
      : `; it had ended with exit code ${exitCode}${reason === undefined ? '' : `: ${reason}`}`;
  return {
    ...{ kind: 'restart', type: (exitCode ?? 0) === 0 ? 'Normal' : 'Warning', reason: 'ContainerRestarted' },
    ...{
      container: name,
      message: `Container ${name} was restarted, for the ${ordinal(restartCount)} time${end}`,
    },
    details: { restartCount, exitCode },
  };
}

function ordinal(count: number): string {
  const isTeen = count % 100 >= 11 && count % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${ending}`;
}
