import { type ContainerStatus, LABELS, type PodStatus } from '#watch';

/** The newest container of a name, as in the last view of its pod. */
export interface ProbeTarget {
  readonly containerId: string;
  readonly state: 'waiting' | 'running' | 'exited';
  /** Milliseconds since the epoch by the runtime's clock; 0 when it has not started. */
  readonly startedAtMs: number;
  /** Where its ports are: the pod's address, or the node's on its network. Empty while the pod has none. */
  readonly host: string;
}

/** Where probes find containers. */
export interface ProbeTargets {
  /**
   * `absent`: none of that name exists. `unknown`: the last inspection failed, and the previous state stays.
   */
  find(podUid: string, containerName: string): ProbeTarget | 'absent' | 'unknown';
}

const LOOPBACK = '127.0.0.1';

/** What {@link observedTargets} reads, such as the cache of the event generator. */
export interface ObservedPodReader {
  get(podUid: string): { readonly status: PodStatus; readonly error: Error | undefined };
}

/**
 * Finds containers in the cache of observed pods.
 *
 * `nodeIp` is the present host of pods on the node's network; empty on a machine without a network, where
 * that is the machine itself.
 */
export function observedTargets(pods: ObservedPodReader, nodeIp: () => string): ProbeTargets {
  return {
    find: (podUid, containerName) => {
      const { status, error } = pods.get(podUid);
      // The status that comes with an error is empty, which says nothing about the pod.
      return error === undefined ? targetIn(status, containerName, nodeIp()) : 'unknown';
    },
  };
}

function targetIn(status: PodStatus, containerName: string, nodeIp: string): ProbeTarget | 'absent' {
  const container = findNewest(status, containerName);
  if (container === undefined) return 'absent';
  const { id, state, startedAtNs } = container;
  const onNode = status.sandboxes[0]?.hostNetwork === true;
  return {
    containerId: id,
    state: state === 'running' || state === 'exited' ? state : 'waiting',
    startedAtMs: Number(startedAtNs / 1_000_000n),
    host: onNode ? nodeIp || LOOPBACK : (status.ips[0] ?? ''),
  };
}

/**
 * By the attempt, as no clock affects it: after a clock was set back, the newest one seems older than its
 * predecessors.
 *
 * Somebody may have created one by hand in an owned sandbox under the same name, without the labels of the
 * pod.
 */
function findNewest({ uid, containers }: PodStatus, name: string): ContainerStatus | undefined {
  const named = containers.filter((container) => container.name === name);
  const owned = named.filter(({ labels }) => labels[LABELS.podUid] === uid);
  return (owned.length > 0 ? owned : named).reduce<ContainerStatus | undefined>(
    (newest, each) => (newest === undefined || each.attempt >= newest.attempt ? each : newest),
    undefined,
  );
}
