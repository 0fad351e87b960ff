import { type ContainerStatus, LABELS, type PodStatus } from '#watch';

/** A container as the last look at its pod showed it: the newest of its name. */
export interface ProbeTarget {
  readonly containerId: string;
  readonly state: 'waiting' | 'running' | 'exited';
  /** Milliseconds since the epoch by the runtime's clock; 0 when it has not started. */
  readonly startedAtMs: number;
  /** Where its ports are: the pod's address, or the node's on its network. Empty while the pod has none. */
  readonly host: string;
}

/** Where probes learn of containers. */
export interface ProbeTargets {
  /** `absent`: there is none of that name. `unknown`: the last look failed, and what was known before holds. */
  find(podUid: string, containerName: string): ProbeTarget | 'absent' | 'unknown';
}

const LOOPBACK = '127.0.0.1';

/** What {@link observedTargets} reads; the cache of the event generator is one. */
export interface ObservedPodReader {
  get(podUid: string): { readonly status: PodStatus; readonly error: Error | undefined };
}

/**
 * Containers as the cache of observed pods has them. `nodeIp` is the host of pods on the node's network as of now; empty
 * on a machine without a network, where that is the machine itself.
 */
export function observedTargets(pods: ObservedPodReader, nodeIp: () => string): ProbeTargets {
  return {
    find: (podUid, containerName) => {
      const { status, error } = pods.get(podUid);
      // The status that goes with an error is empty, which says nothing of the pod.
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
 * By the attempt, which no clock upsets: where that was set back, the newest one seems to be older than those before.
 * Somebody may have made one by hand in our sandbox under the same name, without the labels of the pod.
 */
function findNewest({ uid, containers }: PodStatus, name: string): ContainerStatus | undefined {
  const named = containers.filter((container) => container.name === name);
  const owned = named.filter(({ labels }) => labels[LABELS.podUid] === uid);
  return (owned.length > 0 ? owned : named).reduce<ContainerStatus | undefined>(
    (newest, each) => (newest === undefined || each.attempt >= newest.attempt ? each : newest),
    undefined,
  );
}
