import { type ContainerEnd } from '../metrics/container-end-metrics.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { podStatusChanged } from '../../status/status-changes.js';

/** What {@link watchContainerEnds} needs. */
export interface ContainerEndsOptions {
  /** Subscribes to a channel for as long as ends are reported. */
  readonly listen: MetricsRegistry['listen'];
  readonly isOurs: (podUid: string) => boolean;
  readonly onEnd: (end: ContainerEnd) => void;
}

/**
 * Reports each container's end once.
 *
 * A container that has ended in a pod's first status has ended before this agent, and does not count.
 */
export function watchContainerEnds({ listen, isOurs, onEnd }: ContainerEndsOptions): void {
  /** By pod, the ended containers of its newest status. */
  const ended = new Map<string, ReadonlySet<string>>();
  listen(podStatusChanged, (change) => {
    if (change.type === 'resync') return;
    if (change.type === 'removed') {
      ended.delete(change.pod.uid);
      return;
    }
    const { pod, status } = change.record;
    if (!isOurs(pod.uid)) return;
    const before = ended.get(pod.uid);
    const now = endsOf(status);
    ended.set(pod.uid, new Set(now.keys()));
    if (before === undefined) return;
    for (const [id, end] of now) if (!before.has(id)) onEnd(end);
  });
}

function endsOf(status: V1PodStatus): ReadonlyMap<string, ContainerEnd> {
  const { initContainerStatuses = [], containerStatuses, ephemeralContainerStatuses = [] } = status;
  const found = new Map<string, ContainerEnd>();
  const add = (
    containerType: ContainerEnd['containerType'],
    { state, lastState }: V1ContainerStatus,
  ): void => {
    for (const end of [state.terminated, lastState.terminated]) {
      if (end?.containerID === undefined) continue;
      found.set(end.containerID, { containerType, exitCode: end.exitCode, reason: end.reason });
    }
  };
  for (const each of initContainerStatuses) add('init_container', each);
  for (const each of containerStatuses) add('container', each);
  for (const each of ephemeralContainerStatuses) add('ephemeral_container', each);
  return found;
}
