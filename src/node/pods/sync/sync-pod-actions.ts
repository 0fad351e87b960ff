import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodStatus, quoteRuntimeError } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type Logger } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { userNamespacedStart } from '#base/channels/start-channels.js';

import { hookHostOf } from '../hooks/hook-host.js';
import { hookOf, killPod, type PodKillTools } from './kill-pod.js';
import { type ContainerInBackoff, type ContainerToStart, type PodActions } from '../actions/pod-actions.js';
import { type ContainerResizer } from '../containers/resize-containers.js';
import { type StartedSandbox } from '../containers/configure-container.js';
import {
  CONTAINER_TYPES,
  type ContainerPreparation,
  type ContainerStarter,
} from '../containers/start-container.js';
import { type SandboxStarter } from './start-sandbox.js';
import { type SyncFailure } from './sync-failure.js';

/** What {@link applyPodActions} needs. */
export interface PodActionTools extends PodKillTools, Publisher {
  readonly changes: Pick<RuntimeChanges, 'removeContainer' | 'stopPodSandbox'>;
  readonly sandboxes: Pick<SandboxStarter, 'start'>;
  readonly containers: Pick<ContainerStarter, 'prepare' | 'start'>;
  /** Without it, the limits of running containers do not change. */
  readonly resizer?: Pick<ContainerResizer, 'resize'> | undefined;
  readonly events: PodEventRecorder;
  readonly logger: Logger;
  /** A container's id as log lines show it. */
  readonly formatId: (containerId: string) => string;
}

/** The actions, and the pod. */
export interface PodActionWork {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly actions: PodActions;
  readonly startTime: string | undefined;
}

/** The result. */
export interface AppliedActions {
  /** The names of the containers whose start was tried. */
  readonly tried: readonly string[];
  /** Including containers in back-off. */
  readonly failures: readonly SyncFailure[];
}

/**
 * Applies {@link PodActions} in their order, and returns the failures.
 *
 * Rejects only with the signal's reason, between two changes.
 */
export async function applyPodActions(
  work: PodActionWork,
  tools: PodActionTools,
  signal: AbortSignal,
): Promise<AppliedActions> {
  const { pod, actions } = work;
  const names = { pod: pod.metadata };
  if (actions.sandboxMessage !== undefined) tools.logger.info(actions.sandboxMessage, names, 2);
  const failures: SyncFailure[] = actions.containersInBackoff.map((each) => recordBackoff(pod, each, tools));
  const tried: string[] = [];
  const killed = await killUnwanted(work, tools, signal);
  if (killed.length > 0) return { tried, failures: [...failures, ...killed] };
  const resized = await tools.resizer?.resize(pod, actions.containersToResize, signal);
  failures.push(...(resized ?? []));
  const toStart = inOrder(actions);
  if (toStart.length === 0 && !actions.createSandbox) return { tried, failures };

  const isCounted = actions.createSandbox && pod.spec.hostUsers === false;
  if (isCounted) publishTo(tools.channels, userNamespacedStart, { step: 'begun' });
  const started = await startAll(work, { toStart, tools, tried }, signal);
  if (isCounted && started.length > 0) publishTo(tools.channels, userNamespacedStart, { step: 'failed' });
  return { tried, failures: [...failures, ...started] };
}

/** The sandbox and its containers. Returns what failed. */
async function startAll(
  work: PodActionWork,
  { toStart, tools, tried }: { toStart: readonly ContainerToStart[]; tools: PodActionTools; tried: string[] },
  signal: AbortSignal,
): Promise<readonly SyncFailure[]> {
  const [first] = toStart;
  let preparation: ContainerPreparation | undefined;
  const outcome = await tools.sandboxes.start(work, signal, () => {
    if (first !== undefined) preparation = tools.containers.prepare(work.pod, first, signal);
  });
  if ('failure' in outcome) return [outcome.failure];
  const failures: SyncFailure[] = [];
  const { sandbox } = outcome;
  await startContainers(work, { sandbox, toStart, preparation }, { tools, tried, failures }, signal);
  return failures;
}

/** The containers to start, in an order in which none needs a later one. */
function inOrder(actions: PodActions): readonly ContainerToStart[] {
  const { ephemeralContainersToStart: ephemeral, initContainersToStart, containersToStart } = actions;
  return [...ephemeral, ...initContainersToStart, ...containersToStart];
}

interface StartsInSandbox {
  readonly sandbox: StartedSandbox;
  /** In this order. */
  readonly toStart: readonly ContainerToStart[];
  /** For the first of them. */
  readonly preparation: ContainerPreparation | undefined;
}

async function startContainers(
  { pod, observed }: PodActionWork,
  { sandbox, toStart: all, preparation }: StartsInSandbox,
  { tools, tried, failures }: { tools: PodActionTools; tried: string[]; failures: SyncFailure[] },
  signal: AbortSignal,
): Promise<void> {
  // One after the other, in the order of the spec: a postStart hook holds up the next, and people rely on
  // that.
  for (const [index, toStart] of all.entries()) {
    signal.throwIfAborted();
    const { container, restartCount } = toStart;
    tried.push(container.name);
    const names = { pod: pod.metadata, containerName: container.name };
    if (restartCount > 0) tools.logger.info('Checking backoff for container in pod', names, 4);
    tools.logger.info('Container of pod is not in the desired state and shall be started', names, 4);
    const prepared = index === 0 ? preparation : undefined;
    const start = { pod, observed, sandbox, toStart };
    const failure = await tools.containers.start(start, signal, prepared);
    if (failure === undefined) continue;
    failures.push(failure);
    // The containers after an init container need what it does.
    if (toStart.kind === 'init') return;
  }
}

async function killUnwanted(
  work: PodActionWork,
  tools: PodActionTools,
  signal: AbortSignal,
): Promise<readonly SyncFailure[]> {
  const { pod, observed, actions } = work;
  const { metadata, spec } = pod;
  if (actions.killPod) {
    const graceSeconds = metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds;
    const ownKills = actions.containersToKill;
    const failed = await killPod({ pod: metadata, spec, observed, graceSeconds, ownKills }, tools, signal);
    return failed.length > 0 ? failed : await removeUnwanted(work, tools, signal);
  }
  const failures: SyncFailure[] = [];
  const host = hookHostOf(observed);
  await Promise.all(
    actions.containersToKill.map(async ({ id, name, container, message, gracePeriodSeconds }) => {
      const names = { pod: metadata, containerName: name };
      const shownId = tools.formatId(id);
      tools.logger.info('Killing unwanted container for pod', { ...names, containerID: shownId }, 4);
      const why = { ...names, containerStatusID: shownId, containerMessage: message };
      tools.logger.info('Message for Container of pod', why, 2);
      const status = observed.containers.find((each) => each.id === id);
      const hook =
        container === undefined
          ? status && hookOf(status, undefined)
          : { preStop: container.lifecycle?.preStop, ports: container.ports };
      const kill = { pod: metadata, containerId: id, containerName: name, message, host, ...hook };
      try {
        await tools.killer.kill({ ...kill, graceSeconds: gracePeriodSeconds }, signal);
      } catch (error) {
        failures.push(killFailure(name, error));
      }
    }),
  );
  signal.throwIfAborted();
  return [...failures, ...(await removeUnwanted(work, tools, signal))];
}

async function removeUnwanted(
  { pod, actions }: PodActionWork,
  tools: PodActionTools,
  signal: AbortSignal,
): Promise<readonly SyncFailure[]> {
  const failures: SyncFailure[] = [];
  for (const { id, name } of actions.containersToRemove) {
    try {
      await tools.changes.removeContainer(id, { signal, pod: pod.metadata });
    } catch (error) {
      signal.throwIfAborted();
      failures.push(killFailure(name, error));
    }
  }
  return failures;
}

function recordBackoff(pod: NodePod, waiting: ContainerInBackoff, tools: PodActionTools): SyncFailure {
  const { kind, container, message } = waiting;
  const { name, namespace, uid } = pod.metadata;
  const names = { pod: pod.metadata, containerName: container.name };
  tools.logger.info('Checking backoff for container in pod', names, 4);
  tools.logger.info('Back-off restarting failed container', names, 3);
  tools.events.record(pod.metadata, {
    type: 'Warning',
    reason: 'BackOff',
    message: `Back-off restarting failed container ${container.name} in pod ${name}_${namespace}(${uid})`,
    container: container.name,
  });
  const backingOff = { containerType: CONTAINER_TYPES[kind], container: container.name, pod: pod.metadata };
  tools.logger.info('Backing Off restarting container in pod', backingOff, 4);
  const action = kind === 'init' ? 'InitContainer' : 'StartContainer';
  return {
    action,
    subject: container.name,
    reason: 'CrashLoopBackOff',
    message,
    retryAfterMs: waiting.remainingMs,
  };
}

function killFailure(subject: string, error: unknown): SyncFailure {
  const message = quoteRuntimeError(error);
  return { action: 'KillContainer', subject, reason: 'KillContainerError', message, cause: error };
}
