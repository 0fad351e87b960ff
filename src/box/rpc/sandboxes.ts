import {
  type ListPodSandboxRequest,
  type ListPodSandboxResponse,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  PodSandboxState,
  type PodSandboxStatusRequest,
  type PodSandboxStatusResponse,
  type RemovePodSandboxRequest,
  type RemovePodSandboxResponse,
  type RunPodSandboxRequest,
  type RunPodSandboxResponse,
  type StopPodSandboxRequest,
  type StopPodSandboxResponse,
  type StreamPodSandboxesRequest,
  type StreamPodSandboxesResponse,
  type UpdatePodSandboxResourcesRequest,
  type UpdatePodSandboxResourcesResponse,
} from '#watch/messages';
import { toContainerStatus, toPodSandbox, toPodSandboxStatus } from '../messages.js';
import { matchesLabels } from '#base/text/matches-labels.js';
import { inPieces } from './adapters.js';
import { type RpcContext } from './rpc-context.js';
import { requireId } from './require-id.js';
import { removeOne } from './containers.js';
import { refused } from '../rpc-error.js';
import { messageOf } from '#base/errors/errors.js';
import { type Sandbox } from '../pods/sandbox.js';

/** CRI ListPodSandbox: those that match every part of the filter that is given. */
export function listPodSandbox(
  context: RpcContext,
  { filter }: ListPodSandboxRequest,
): ListPodSandboxResponse {
  return { items: selectSandboxes(context, filter) };
}

/** The list, for the call with one answer and for the stream. */
function selectSandboxes({ pods }: RpcContext, filter: PodSandboxFilter | undefined): PodSandbox[] {
  const { id = '', state, labelSelector = {} } = filter ?? {};
  return pods.sandboxes
    .filter((sandbox) => id === '' || sandbox.id === id)
    .filter((sandbox) => state === undefined || sandbox.state === state.state)
    .filter((sandbox) => matchesLabels(sandbox.config.labels, labelSelector))
    .map(toPodSandbox);
}

/** CRI PodSandboxStatus: the sandbox, and its containers as of the same moment, which `timestamp` names. */
export function podSandboxStatus(
  { pods, parts, isolation, time }: RpcContext,
  { podSandboxId, verbose }: PodSandboxStatusRequest,
): PodSandboxStatusResponse {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  const info = {
    pid: sandbox.holderPid ?? 0,
    isolation: isolation.notice,
    hostname: sandbox.config.hostname,
    name: sandbox.record.name,
  };
  return {
    status: toPodSandboxStatus(sandbox, parts.ipsOf(sandbox.id)),
    info: verbose ? { info: JSON.stringify(info) } : {},
    containersStatuses: pods.containersOf(sandbox.id).map(toContainerStatus),
    timestamp: time.now(),
  };
}

/** CRI RemovePodSandbox: ends what runs, removes its containers, forgets it. Again and unknown: no error. */
export async function removePodSandbox(
  context: RpcContext,
  { podSandboxId }: RemovePodSandboxRequest,
): Promise<RemovePodSandboxResponse> {
  const { pods, events } = context;
  const sandbox = pods.findSandbox(requireId('sandbox', podSandboxId));
  await sandbox?.lifecycle.run(async () => {
    if (pods.findSandbox(sandbox.id) === undefined) return;
    await stopSandbox(context, sandbox, 'may');
    for (const container of pods.containersOf(sandbox.id)) await removeOne(context, container);
    await pods.deleteSandbox(sandbox);
    events.publish('deleted', sandbox.id, sandbox.id);
  });
  return {};
}

/**
 * CRI RunPodSandbox: makes the pod's frame: its record, namespaces, cgroup and network.
 *
 * Fails without a trace when metadata is missing, the name is taken, or something is asked for that this runtime
 * cannot do.
 */
export async function runPodSandbox(
  { pods, events, isolation }: RpcContext,
  request: RunPodSandboxRequest,
  signal: AbortSignal,
): Promise<RunPodSandboxResponse> {
  const config = assertConfig(request.config);
  if (request.runtimeHandler !== '') {
    throw refused(`failed to get sandbox runtime: no runtime for "${request.runtimeHandler}" is configured`);
  }
  await isolation.checkSandbox(config);
  const { id } = await pods.createSandbox(config, signal);
  events.publish('created', id, id);
  events.publish('started', id, id);
  return { podSandboxId: id };
}

function assertConfig(config: PodSandboxConfig | undefined): PodSandboxConfig {
  if (config?.metadata === undefined) throw refused('sandbox config must include metadata');
  return config;
}

/** CRI StopPodSandbox: kills its containers, then the sandbox is not ready. Again and unknown: no error. */
export async function stopPodSandbox(
  context: RpcContext,
  { podSandboxId }: StopPodSandboxRequest,
): Promise<StopPodSandboxResponse> {
  const sandbox = context.pods.findSandbox(requireId('sandbox', podSandboxId));
  if (sandbox !== undefined) await sandbox.lifecycle.run(() => stopSandbox(context, sandbox, 'must'));
  return {};
}

/**
 * Whoever calls it holds the sandbox's lifecycle.
 *
 * @param recorded whether it fails when the stop cannot be recorded: on a full disk a removal must go on, since it is
 * what makes room.
 */
async function stopSandbox(
  { pods, events, parts, logger }: RpcContext,
  sandbox: Sandbox,
  recorded: 'must' | 'may',
): Promise<void> {
  sandbox.beginStop();
  const wasReady = sandbox.state === PodSandboxState.SANDBOX_READY;
  await Promise.all(pods.containersOf(sandbox.id).map((container) => container.stop('SIGKILL', 0)));
  // Before anything is undone: a runtime that is killed in between must not find a ready sandbox without a network.
  if (!sandbox.record.stopped) {
    await sandbox.markStopped().catch((error: unknown) => {
      if (recorded === 'must') throw error;
      logger.warn('Stop not recorded', { sandboxId: sandbox.id, err: messageOf(error) });
    });
  }
  if (wasReady) events.publish('stopped', sandbox.id, sandbox.id);
  await parts.release(sandbox);
}

/** CRI StreamPodSandboxes: the list in pieces, so that its size has no limit. */
export function* streamPodSandboxes(
  context: RpcContext,
  { filter }: StreamPodSandboxesRequest,
): Generator<StreamPodSandboxesResponse> {
  for (const podSandboxes of inPieces(selectSandboxes(context, filter))) yield { podSandboxes };
}

/**
 * CRI UpdatePodSandboxResources: takes note of a pod's own resources, after the agent has changed the cgroup parent.
 *
 * Its CPU weight is applied to the pod's group. Its limits are not: what agents send is the sum over those
 * containers that have a limit, and the parent already holds it.
 */
export async function updatePodSandboxResources(
  { pods, cgroups }: RpcContext,
  { podSandboxId, overhead, resources }: UpdatePodSandboxResourcesRequest,
): Promise<UpdatePodSandboxResourcesResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  for (const each of [overhead, resources]) if (each !== undefined) cgroups.check(each);
  await sandbox.lifecycle.run(async () => {
    if (pods.findSandbox(sandbox.id) !== sandbox) throw refused(`sandbox "${sandbox.id}" is being removed`);
    await sandbox.setResources({ overhead, resources });
    await cgroups.updatePod(sandbox.id, sandbox.config);
  });
  return {};
}
