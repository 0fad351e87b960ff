/**
 * What stands in the way of an owned pod: pods of others with its name or its uid. Pure.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { ANNOTATIONS, type ContainerStatus, type IsOurs, LABELS, type PodStatus } from '#watch';

import { type HostPort, hostPortsOf, TakenHostPorts } from './host-ports.js';
import { isRunning } from '../loop/housekeeping-owner.js';
import { type Rejection } from '../loop/desired-pods.js';

/** A foreign pod's claim to an owned pod's names. */
export interface ForeignClaim {
  /** Why the pod cannot run here for now; undefined when it can run beside the foreign one. */
  readonly rejection: Rejection | undefined;
  /** For people; undefined when there is nothing to warn of. */
  readonly warning: string | undefined;
}

/** The reason of a pod whose uid a foreign pod has: whatever runs under that uid is not owned. */
export const FOREIGN_POD = 'ForeignPod';

const NOTHING: ForeignClaim = { rejection: undefined, warning: undefined };

/**
 * Whether a foreign pod stands in the way.
 *
 * A foreign pod with the owned pod's uid leaves no room for it: a runtime distinguishes pods by their uids,
 * so that every call would hit the foreign one. A pod with only the same namespace and name may run beside
 * it, unless both want the same host port.
 */
export function findForeignClaim(pod: NodePod, observed: Iterable<PodStatus>, isOurs: IsOurs): ForeignClaim {
  const { uid, namespace, name } = pod.metadata;
  for (const other of observed) {
    const isTwin = other.uid === uid;
    if (!isTwin && (other.namespace !== namespace || other.name !== name)) continue;
    if (!isForeign(other, isOurs)) continue;
    const whose = describeOwner(other);
    if (isTwin) {
      const message = `Pod was rejected: ${whose} has the uid ${uid} already; the pod starts once that is gone`;
      return { rejection: { reason: FOREIGN_POD, message }, warning: message + adviceFor(other) };
    }
    if (!isRunning(other)) continue;
    const running = other.containers.filter(({ state }) => state === 'running');
    const taken = new TakenHostPorts(running.flatMap(writtenHostPorts));
    const port = hostPortsOf(pod).find((wanted) => taken.collides(wanted));
    if (port === undefined) {
      const warning = `${whose} with the uid ${other.uid} has the same name ${formatPod(pod.metadata)}; it is left alone, and the pod of this agent runs beside it`;
      return { rejection: undefined, warning: warning + adviceFor(other) };
    }
    const message = `Pod was rejected: port ${port.port} of the node is taken by ${whose} with the same name and the uid ${other.uid}; the pod starts once that is gone`;
    return { rejection: { reason: 'NodePorts', message }, warning: message + adviceFor(other) };
  }
  return NOTHING;
}

/**
 * Whether a pod is foreign: decided by its sandboxes, as anybody may have put a container into an owned one.
 */
export function isForeign({ uid, sandboxes, containers }: PodStatus, isOurs: IsOurs): boolean {
  const parts = sandboxes.length > 0 ? sandboxes : containers;
  return parts.some(({ labels }) => !isOurs(labels, uid));
}

function describeOwner({ owner, sandboxes, containers }: PodStatus): string {
  if (owner === 'kubernetes') return 'a pod of a kubelet';
  const marked = [...sandboxes, ...containers].find(
    ({ labels }) => (labels[LABELS.nodeInstance] ?? '') !== '',
  );
  return marked === undefined
    ? 'a pod of somebody else'
    : `a pod of another podloop (${marked.labels[LABELS.nodeInstance]!})`;
}

function adviceFor({ owner }: PodStatus): string {
  return owner === 'kubernetes' ? '. With --adopt it is taken over instead' : '';
}

/** As kubelets write them; ignores what cannot be parsed. */
function writtenHostPorts({ annotations }: ContainerStatus): HostPort[] {
  let ports: unknown;
  try {
    ports = JSON.parse(annotations[ANNOTATIONS.ports] ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(ports)) return [];
  return ports.flatMap((each: unknown): HostPort[] => {
    const { hostPort, protocol, hostIP } = (each ?? {}) as Record<string, unknown>;
    if (typeof hostPort !== 'number' || hostPort === 0) return [];
    const address = typeof hostIP === 'string' ? hostIP : '';
    return [{ port: hostPort, protocol: typeof protocol === 'string' ? protocol : 'TCP', address }];
  });
}
