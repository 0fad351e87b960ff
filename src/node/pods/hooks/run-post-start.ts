import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type Logger } from '#base/log/logger.js';
import { type ContainerKiller } from '../containers/kill-container.js';
import { type LifecycleHooks } from './lifecycle-hook.js';

/** What {@link runPostStart} needs. */
export interface PostStartTools {
  readonly hooks: Pick<LifecycleHooks, 'run'>;
  readonly killer: Pick<ContainerKiller, 'kill'>;
  readonly events: PodEventRecorder;
  readonly logger: Logger;
}

/** A container that has just been started. */
export interface JustStarted {
  readonly pod: NodePod;
  readonly container: Container;
  readonly containerId: string;
  /** Where the container's ports are; empty when unknown. */
  readonly host: string;
}

/**
 * Runs the postStart hook of a container, if it has one; if the hook fails, ends the container and returns
 * why.
 *
 * Rejects only with the signal's reason.
 */
export async function runPostStart(
  { pod, container, containerId, host }: JustStarted,
  { hooks, killer, events, logger }: PostStartTools,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { postStart: handler, preStop } = container.lifecycle ?? {};
  if (handler === undefined) return undefined;
  const { name: containerName, ports = [] } = container;
  const common = { pod: pod.metadata, containerId, containerName, ports, host };
  const problem = await hooks.run({ ...common, handler, timeoutSeconds: 0 }, signal);
  if (problem === undefined) return undefined;
  const names = { pod: pod.metadata, podUID: pod.metadata.uid, containerName };
  logger.error('Failed to execute PostStartHook', problem, { ...names, containerID: containerId });
  // The output of the hook may be secret.
  const message = 'PostStartHook failed';
  events.record(pod.metadata, {
    ...{ type: 'Warning', reason: 'FailedPostStartHook', message },
    container: containerName,
  });
  try {
    const graceSeconds = pod.spec.terminationGracePeriodSeconds ?? 0;
    await killer.kill({ ...common, preStop, graceSeconds, message: 'FailedPostStartHook' }, signal);
  } catch (error) {
    signal.throwIfAborted();
    logger.error('Failed to kill container', error, { ...names, containerID: containerId });
  }
  return problem;
}
