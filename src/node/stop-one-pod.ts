import { type StoppedPods, type StopRequest } from './desired/stopped-pods.js';
import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { ApiError } from './api/http/api-error.js';
import { type ServedPod } from './api/objects/served-pod.js';
import { type DesiredPods } from './pods/loop/desired-pods.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type PodWorkers } from './pods/workers/pod-workers.js';

/** What {@link stopOnePod} needs. */
export interface StopOnePodPorts {
  readonly clock: Clock;
  readonly desired: Pick<DesiredPods, 'has'>;
  readonly workers: Pick<PodWorkers, 'updatePod'>;
  readonly stopped: Pick<StoppedPods, 'stop'>;
  /** Nothing new starts any more. */
  readonly isEnding: () => boolean;
}

/**
 * Stops a pod until its manifest changes. A pod that nobody wants any more can only get less time. `keepsClaims`: it is
 * to run again later, so the volumes of its claims stay.
 *
 * Rejects for a pod of a cluster, as it would be started again: it ends when its API server says so.
 */
export async function stopOnePod(
  ports: StopOnePodPorts,
  { pod }: ServedPod,
  asked: number | undefined,
  keepsClaims = false,
): Promise<void> {
  const { desired, workers } = ports;
  checkMayEnd(ports, pod);
  if (desired.has(pod.metadata.uid)) return writeStop(ports, pod, { asked, keepsClaims });
  workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds: graceOf(pod, asked) } });
}

/**
 * Ends all of a pod and runs it again, as its manifest says.
 *
 * Rejects for a pod that nobody wants any more, and for one of a cluster.
 */
export async function restartOnePod(
  ports: StopOnePodPorts,
  { pod }: ServedPod,
  asked: number | undefined,
): Promise<void> {
  checkMayEnd(ports, pod);
  const { uid, name } = pod.metadata;
  if (ports.desired.has(uid)) return writeStop(ports, pod, { asked, comesBack: true });
  const message = `Operation cannot be fulfilled on pods ${JSON.stringify(name)}: its manifest is gone, so it would not run again`;
  throw new ApiError('Conflict', message, { name, kind: 'pods' });
}

function checkMayEnd({ isEnding, desired }: StopOnePodPorts, pod: NodePod): void {
  if (isEnding()) throw new ApiError('ServiceUnavailable', 'the agent is ending');
  if (isClusterPod(pod) && desired.has(pod.metadata.uid)) throw belongsToCluster(pod.metadata);
}

async function writeStop(
  { clock, stopped }: StopOnePodPorts,
  pod: NodePod,
  { asked, ...more }: Pick<StopRequest, 'comesBack' | 'keepsClaims'> & { readonly asked: number | undefined },
): Promise<void> {
  const gracePeriodSeconds = graceOf(pod, asked);
  const deletionTimestamp = toV1Time(clock.now() + gracePeriodSeconds * 1_000);
  try {
    await stopped.stop(pod, { deletionTimestamp, gracePeriodSeconds, ...more });
  } catch (error) {
    const message = `the pod was not stopped, as this cannot be written to the disk: ${messageOf(error)}`;
    throw new ApiError('InternalError', message, undefined, { cause: error });
  }
}

function graceOf({ spec }: NodePod, asked: number | undefined): number {
  return asked ?? spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}

function belongsToCluster({ namespace, name }: ServedPod['pod']['metadata']): ApiError {
  const right = `kubectl delete pod ${name}${namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`}`;
  const message = `pods ${JSON.stringify(name)} is forbidden: it belongs to the cluster that this node is part of; delete it there: ${right}`;
  return new ApiError('Forbidden', message, { name, kind: 'pods' });
}
