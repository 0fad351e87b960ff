import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodPaths, type PodStatus, quoteRuntimeError } from '#watch';
import { type V1PodCondition } from '#kube/pod/v1-pod-status.js';
import { type Logger } from '#base/log/logger.js';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type ContainerToReset } from '../../status/all-containers-restart.js';
import { mayBeAlive } from '../../status/pod-containers.js';
import { type ContainerKiller } from '../containers/kill-container.js';
import { hookHostOf } from '../hooks/hook-host.js';
import { removeOlderLogs } from './older-logs.js';
import { type SyncFailure, toSyncError } from './sync-failure.js';
import { type PodPlanner } from './sync-pod-planner.js';

/** What {@link resetPod} needs. */
export interface ResetPodTools {
  readonly planner: Pick<PodPlanner, 'findContainersToReset'>;
  readonly changes: Pick<RuntimeChanges, 'removeContainer'>;
  readonly killer: Pick<ContainerKiller, 'kill'>;
  /** Why containers wait is no longer true of any. */
  readonly startFailures: { forget(podUid: string): void };
  readonly look: (podUid: string, signal: AbortSignal) => Promise<PodStatus>;
  readonly paths: Pick<PodPaths, 'containerLogDir'>;
  readonly containerLogLinksDir?: string | undefined;
  readonly logger: Logger;
  /** A container's id as log lines show it. */
  readonly formatId: (containerId: string) => string;
}

/** What is known of the pod. */
export interface ObservedReset {
  readonly observed: PodStatus;
  /** Of its present status. */
  readonly conditions: readonly V1PodCondition[];
}

/**
 * Removes all containers of a pod when one has ended in a way that restarts them all. Returns what the runtime has of the
 * pod afterwards; undefined when there is nothing to do.
 *
 * One after the other, as a kubelet does: those alive are stopped without their hooks and their grace period. The sandbox,
 * the volumes and the newest log of each container stay: a pod that restarts for ever fills no disk. Rejects with
 * POD_SYNC_FAILED, or with the signal's reason; the next call goes on.
 */
export async function resetPod(
  pod: NodePod,
  { observed, conditions }: ObservedReset,
  tools: ResetPodTools,
  signal: AbortSignal,
): Promise<PodStatus | undefined> {
  const { metadata } = pod;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const toReset = tools.planner.findContainersToReset(pod, observed, conditions);
  if (toReset.length === 0) return undefined;
  tools.logger.info('Pod marked for RestartAllContainers', { pod: metadata }, 3);
  for (const each of toReset) {
    const failure = await resetContainer(pod, observed, each, tools, signal);
    if (failure !== undefined) throw toSyncError([failure]);
  }
  for (const name of new Set(toReset.map(({ container }) => container.name)))
    await removeLogs(metadata, name, tools);
  tools.startFailures.forget(metadata.uid);
  return await tools.look(metadata.uid, signal);
}

/** What stays is removed the next time, or with the pod. */
async function removeLogs(
  pod: NodePod['metadata'],
  name: string,
  { paths, containerLogLinksDir, logger }: ResetPodTools,
): Promise<void> {
  try {
    await removeOlderLogs(pod, name, { logDir: paths.containerLogDir(pod, name), containerLogLinksDir });
  } catch (error) {
    logger.error('Failed to remove the logs of a container', error, { pod, containerName: name });
  }
}

async function resetContainer(
  { metadata }: NodePod,
  observed: PodStatus,
  { container: { name }, status }: ContainerToReset,
  { changes, killer, logger, formatId }: ResetPodTools,
  signal: AbortSignal,
): Promise<SyncFailure | undefined> {
  const names = { pod: metadata, containerName: name, containerID: formatId(status.id) };
  logger.info('Removing container before pod restarts', names, 3);
  const failed = (action: 'KillContainer' | 'RemoveContainer', cause: unknown): SyncFailure => {
    signal.throwIfAborted();
    return { action, subject: name, reason: `${action}Error`, message: quoteRuntimeError(cause), cause };
  };
  try {
    const kill = { pod: metadata, containerId: status.id, containerName: name, host: hookHostOf(observed) };
    if (mayBeAlive(status)) await killer.kill({ ...kill, graceSeconds: 0, message: 'killing' }, signal);
  } catch (error) {
    return failed('KillContainer', error);
  }
  try {
    await changes.removeContainer(status.id, { signal, pod: metadata });
    return undefined;
  } catch (error) {
    return failed('RemoveContainer', error);
  }
}
