import { findSizeExcess } from '../container/command-size.js';
import { type Container } from '../container/container.js';
import { invalidArgument, notFound, refused, unimplemented } from '../rpc-error.js';
import {
  type ContainerConfig,
  type ContainerFilter,
  ContainerState,
  type ContainerStatusRequest,
  type ContainerStatusResponse,
  type CreateContainerRequest,
  type CreateContainerResponse,
  type ExecSyncRequest,
  type ExecSyncResponse,
  type LinuxContainerResources,
  type ListContainersRequest,
  type ListContainersResponse,
  NamespaceMode,
  type RemoveContainerRequest,
  type RemoveContainerResponse,
  type ReopenContainerLogRequest,
  type ReopenContainerLogResponse,
  type StartContainerRequest,
  type StartContainerResponse,
  type StopContainerRequest,
  type StopContainerResponse,
  type StreamContainersRequest,
  type StreamContainersResponse,
  type UpdateContainerResourcesRequest,
  type UpdateContainerResourcesResponse,
} from '#watch/messages';
import { toContainer, toContainerStatus } from '../messages.js';
import { requireId, requireImage } from './require-id.js';
import { type RpcContext } from './rpc-context.js';
import { type ContainerRecord } from '../container/container-record.js';
import { HOST, HOST_IMAGE } from '../images/host-image.js';
import { type ImageStore } from '../images/image-store.js';
import { isImageVolume } from '../isolation/mounts/container-volumes.js';
import { resolveLogPath } from '../container/output/log-path.js';
import { type PodRegistry } from '../pods/pod-registry.js';
import { computeArgv } from '../container/resolve-command.js';
import { collectOutput } from '../container/output/collect-output.js';
import { matchesLabels } from '#base/text/matches-labels.js';
import { inPieces } from './adapters.js';

/** Refuses a command that no process can be given, with INVALID_ARGUMENT; the container gives its environment. */
export async function checkCommand(
  { command }: Pick<Container, 'command'>,
  cmd: readonly string[],
): Promise<void> {
  if (cmd.some((word) => word.includes('\0'))) throw invalidArgument('cmd holds a NUL byte');
  const excess = await findSizeExcess({ argv: cmd, environment: command.environment });
  if (excess === undefined) return;
  const { totalBytes, mostBytes, longestWordBytes } = excess;
  throw invalidArgument(
    `cmd is too long: ${totalBytes} bytes with the container's environment; ` +
      `${mostBytes} are allowed, and ${longestWordBytes} in one argument`,
  );
}

/** CRI ContainerStatus. Verbose adds the pid, the folder with its records, and what isolation there is not. */
export function containerStatus(
  { pods, isolation }: RpcContext,
  { containerId, verbose }: ContainerStatusRequest,
): ContainerStatusResponse {
  const container = pods.getContainer(requireId('container', containerId));
  const { record, files, pid } = container;
  const info = { sandboxID: record.sandboxId, pid, isolation: isolation.kind, directory: files.dir };
  return { status: toContainerStatus(container), info: verbose ? { info: JSON.stringify(info) } : {} };
}

/** CRI CreateContainer: records it; nothing runs yet. A refused request leaves no trace. */
export async function createContainer(
  { pods, events, images, isolation }: RpcContext,
  request: CreateContainerRequest,
  signal: AbortSignal,
): Promise<CreateContainerResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', request.podSandboxId));
  const config = assertConfig(request.config);
  if (!sandbox.takesContainers) throw notFound('running sandbox', sandbox.id);
  const { id: imageId } = images.get(requireImage(config.image));
  const image = images.configOf(imageId);
  if (computeArgv(config, image).length === 0) throw refused('no command specified');
  await isolation.checkContainer(config);
  if (imageId !== HOST.id && !isolation.hasRoots) {
    throw unimplemented(`images other than ${HOST_IMAGE} need namespaces: ${isolation.notice}`);
  }
  checkTarget(pods, sandbox.id, config);
  const imageVolumes = findImageVolumes(images, config);
  const logPath = await resolveLogPath(
    request.sandboxConfig?.logDirectory ?? sandbox.config.logDirectory,
    config.logPath,
  );
  const { id } = await pods.createContainer(
    { sandbox, config, imageId, image, imageVolumes, logPath },
    signal,
  );
  events.publish('created', id, sandbox.id);
  return { containerId: id };
}

function assertConfig(config: ContainerConfig | undefined): ContainerConfig {
  if (config?.metadata === undefined) throw refused('container config must include metadata');
  return config;
}

/** The images that are to be mounted as volumes; throws NOT_FOUND for one that was not pulled. */
function findImageVolumes(images: ImageStore, { mounts }: ContainerConfig): ContainerRecord['imageVolumes'] {
  return mounts.flatMap((mount, at) => {
    if (!isImageVolume(mount)) return [];
    const imageId = images.get(requireImage(mount.image)).id;
    if (imageId === HOST.id) throw unimplemented(`${HOST_IMAGE} cannot be mounted as a volume`);
    return [{ at, imageId }];
  });
}

/** A container may only join the processes of one that runs in the same pod. */
function checkTarget(pods: PodRegistry, sandboxId: string, { linux }: ContainerConfig): void {
  const { pid, targetId = '' } = linux?.securityContext?.namespaceOptions ?? {};
  if (pid !== NamespaceMode.TARGET) return;
  const target = pods.getContainer(requireId('container', targetId));
  if (target.record.sandboxId !== sandboxId) {
    throw refused(`invalid target container: container "${targetId}" is not in sandbox "${sandboxId}"`);
  }
  if (!target.running) throw refused(`invalid target container: container "${targetId}" is not running`);
}

/**
 * CRI ExecSync: runs a command inside of a running container, as its entrypoint was run.
 *
 * `timeout` is in seconds, 0 for none; when it passes, or the caller leaves, the command's whole session is killed
 * and the call ends with DEADLINE_EXCEEDED.
 */
export async function execSync(
  { pods, clock }: RpcContext,
  { containerId, cmd, timeout }: ExecSyncRequest,
  signal: AbortSignal,
): Promise<ExecSyncResponse> {
  const container = pods.getContainer(requireId('container', containerId));
  if (container.state !== ContainerState.CONTAINER_RUNNING) throw refused('container is not running');
  if (cmd.length === 0) throw refused('exec: no command specified');
  await checkCommand(container, cmd);
  const streams = { tty: false, stdin: false, stdout: true, stderr: true };
  const process = await container.openProcess({ argv: cmd, ...streams });
  return collectOutput(process, { timeoutMs: Number(timeout) * 1000, signal, clock });
}

/** CRI ListContainers: those that match every part of the filter that is given. */
export function listContainers(
  context: RpcContext,
  { filter }: ListContainersRequest,
): ListContainersResponse {
  return { containers: selectContainers(context, filter) };
}

/** The list, for the call with one answer and for the stream. */
function selectContainers(
  { pods }: RpcContext,
  filter: ContainerFilter | undefined,
): ListContainersResponse['containers'] {
  const { id = '', podSandboxId = '', state, labelSelector = {} } = filter ?? {};
  return pods.containers
    .filter((container) => id === '' || container.id === id)
    .filter((container) => podSandboxId === '' || container.record.sandboxId === podSandboxId)
    .filter((container) => state === undefined || container.state === state.state)
    .filter((container) => matchesLabels(container.record.config.labels, labelSelector))
    .map(toContainer);
}

/** CRI RemoveContainer: kills it if it runs, forgets it; its log stays. Again and unknown: no error. */
export async function removeContainer(
  context: RpcContext,
  { containerId }: RemoveContainerRequest,
): Promise<RemoveContainerResponse> {
  const container = context.pods.findContainer(requireId('container', containerId));
  if (container !== undefined) await removeOne(context, container);
  return {};
}

/** Removes one container, for this call and for the removal of a sandbox. */
export async function removeOne({ pods, events }: RpcContext, container: Container): Promise<void> {
  await container.retire(async () => {
    await pods.deleteContainer(container);
    events.publish('deleted', container.id, container.record.sandboxId);
  });
}

/** CRI ReopenContainerLog: what comes after the answer is in a new file at the log's path. */
export async function reopenContainerLog(
  { pods }: RpcContext,
  { containerId }: ReopenContainerLogRequest,
): Promise<ReopenContainerLogResponse> {
  await pods.getContainer(requireId('container', containerId)).reopenLog();
  return {};
}

/** CRI StartContainer: returns once its process exists. When it cannot be run, the container is exited (128). */
export async function startContainer(
  { pods }: RpcContext,
  { containerId }: StartContainerRequest,
  signal: AbortSignal,
): Promise<StartContainerResponse> {
  const container = pods.getContainer(requireId('container', containerId));
  await container.start(() => {
    const sandbox = pods.findSandbox(container.record.sandboxId);
    if (sandbox?.takesContainers !== true) {
      throw refused(`sandbox container "${container.record.sandboxId}" is not running`);
    }
  }, signal);
  return {};
}

/**
 * CRI StopContainer: the stop signal, and SIGKILL for what is left after `timeout` seconds. Returns once it has
 * exited. Again, unknown or never started: no error.
 */
export async function stopContainer(
  { pods }: RpcContext,
  { containerId, timeout }: StopContainerRequest,
): Promise<StopContainerResponse> {
  const container = pods.findContainer(requireId('container', containerId));
  await container?.stop(container.stopSignal, toTimeoutMs(timeout));
  return {};
}

/** Longer than any grace period, shorter than what a timer can hold. */
const MAX_MS = 2 ** 31 - 1;

function toTimeoutMs(seconds: bigint): number {
  return Math.min(Number(seconds) * 1000, MAX_MS);
}

/** CRI StreamContainers: the list in pieces, so that its size has no limit. */
export function* streamContainers(
  context: RpcContext,
  { filter }: StreamContainersRequest,
): Generator<StreamContainersResponse> {
  for (const containers of inPieces(selectContainers(context, filter))) yield { containers };
}

/**
 * CRI UpdateContainerResources: changes the limits of a container that is created or runs, all or none. What is not
 * set in the request stays as it is. The limits then hold for its next start, too, and ContainerStatus shows them.
 */
export async function updateContainerResources(
  context: RpcContext,
  { containerId, linux }: UpdateContainerResourcesRequest,
): Promise<UpdateContainerResourcesResponse> {
  const container = context.pods.getContainer(requireId('container', containerId));
  if (linux !== undefined) {
    await container.updateResources(linux, (resources) => apply(context, container, resources));
  }
  return {};
}

async function apply(
  { cgroups }: RpcContext,
  container: Container,
  resources: LinuxContainerResources,
): Promise<void> {
  const cgroup = cgroups.findContainer(container.record.sandboxId, container.id);
  if (cgroup.exists) await cgroup.update(resources);
  else if (container.running || !cgroups.usable) {
    throw unimplemented('the container has no cgroup: its limits cannot be changed');
  } else cgroups.check(resources);
}
