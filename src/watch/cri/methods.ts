import { type CriCallPod } from '#base/channels/channels.js';

import * as cri from './generated/runtime/v1/cri.js';

/** The subject of a call, as read from its request. */
export interface CallSubject {
  readonly containerId?: string;
  readonly sandboxId?: string;
  readonly image?: string;
  readonly pod?: CriCallPod;
  /** A list that asks for a part alone. */
  readonly filtered?: boolean;
}

/**
 * How long a call may take.
 *
 * `default` is the client's limit, `double` twice that, `long` an hour, and `none` has no limit. A function
 * returns what the request itself adds to the default, in seconds (CRI's own unit), or undefined for no
 * limit.
 */
export type DeadlineRule<Request> =
  'default' | 'double' | 'long' | 'none' | ((request: Request) => number | undefined);

/** Everything that the client needs to know about one CRI method. */
export interface CriMethod<Request, Response, Streaming extends boolean> {
  /** As CRI names it: ListContainers. */
  readonly name: string;
  /** The path of its HTTP/2 request. */
  readonly path: string;
  /** The kubelet's operation_type, or a name in the same style where the kubelet has none. */
  readonly operation: string;
  readonly streaming: Streaming;
  readonly request: cri.MessageFns<Request>;
  readonly response: cri.MessageFns<Response>;
  readonly deadline: DeadlineRule<Request>;
  readonly subject: (request: Request) => CallSubject;
}

interface MethodOptions<Request> {
  readonly deadline?: DeadlineRule<Request>;
  readonly subject?: (request: Request) => CallSubject;
}

type Service = 'RuntimeService' | 'ImageService';

function unary<Request, Response>(
  service: Service,
  name: string,
  operation: string,
  request: cri.MessageFns<Request>,
  response: cri.MessageFns<Response>,
  { deadline = 'default', subject = nothing }: MethodOptions<Request> = {},
): CriMethod<Request, Response, false> {
  const path = `/runtime.v1.${service}/${name}`;
  return { name, path, operation, streaming: false, request, response, deadline, subject };
}

function streaming<Request, Response>(
  service: Service,
  name: string,
  operation: string,
  request: cri.MessageFns<Request>,
  response: cri.MessageFns<Response>,
  { deadline = 'default', subject = nothing }: MethodOptions<Request> = {},
): CriMethod<Request, Response, true> {
  return { ...unary(service, name, operation, request, response, { deadline, subject }), streaming: true };
}

const nothing = (): CallSubject => ({});
const ofContainer = (request: { containerId: string }): CallSubject => ({ containerId: request.containerId });
const ofSandbox = (request: { podSandboxId: string }): CallSubject => ({ sandboxId: request.podSandboxId });
const ofImage = (request: { image?: cri.ImageSpec | undefined }): CallSubject => ({
  image: request.image?.image ?? '',
});
const ofPart = ({ filter }: { filter?: object | undefined }): CallSubject =>
  filter === undefined ? {} : { filtered: true };
const podOf = (config: cri.PodSandboxConfig | undefined): CallSubject => {
  if (config?.metadata === undefined) return {};
  const { uid, namespace, name } = config.metadata;
  return { pod: { uid, namespace, name } };
};
// A stop with grace 0 or less kills at once, so the default limit applies.
const ownTimeout = (request: { timeout: bigint }): number => Math.max(0, Number(request.timeout));
// For an exec, timeout 0 means no limit.
const execTimeout = (request: { timeout: bigint }): number | undefined =>
  request.timeout > 0n ? Number(request.timeout) : undefined;

const R = 'RuntimeService';
const I = 'ImageService';

/** Every method of CRI v1 under the name it has on the client. */
// prettier-ignore
export const CRI_METHODS = {
  version: unary(R, 'Version', 'version', cri.VersionRequest, cri.VersionResponse),
  runPodSandbox: unary(R, 'RunPodSandbox', 'run_podsandbox', cri.RunPodSandboxRequest, cri.RunPodSandboxResponse, { subject: (request) => podOf(request.config), deadline: 'double' }),
  stopPodSandbox: unary(R, 'StopPodSandbox', 'stop_podsandbox', cri.StopPodSandboxRequest, cri.StopPodSandboxResponse, { subject: ofSandbox }),
  removePodSandbox: unary(R, 'RemovePodSandbox', 'remove_podsandbox', cri.RemovePodSandboxRequest, cri.RemovePodSandboxResponse, { subject: ofSandbox }),
  podSandboxStatus: unary(R, 'PodSandboxStatus', 'podsandbox_status', cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse, { subject: ofSandbox }),
  listPodSandbox: unary(R, 'ListPodSandbox', 'list_podsandbox', cri.ListPodSandboxRequest, cri.ListPodSandboxResponse, { subject: ofPart }),
  streamPodSandboxes: streaming(R, 'StreamPodSandboxes', 'stream_podsandboxes', cri.StreamPodSandboxesRequest, cri.StreamPodSandboxesResponse),
  createContainer: unary(R, 'CreateContainer', 'create_container', cri.CreateContainerRequest, cri.CreateContainerResponse, { subject: (request) => ({ ...ofSandbox(request), ...podOf(request.sandboxConfig) }) }),
  startContainer: unary(R, 'StartContainer', 'start_container', cri.StartContainerRequest, cri.StartContainerResponse, { subject: ofContainer }),
  stopContainer: unary(R, 'StopContainer', 'stop_container', cri.StopContainerRequest, cri.StopContainerResponse, { subject: ofContainer, deadline: ownTimeout }),
  removeContainer: unary(R, 'RemoveContainer', 'remove_container', cri.RemoveContainerRequest, cri.RemoveContainerResponse, { subject: ofContainer }),
  listContainers: unary(R, 'ListContainers', 'list_containers', cri.ListContainersRequest, cri.ListContainersResponse, { subject: ofPart }),
  streamContainers: streaming(R, 'StreamContainers', 'stream_containers', cri.StreamContainersRequest, cri.StreamContainersResponse),
  containerStatus: unary(R, 'ContainerStatus', 'container_status', cri.ContainerStatusRequest, cri.ContainerStatusResponse, { subject: ofContainer }),
  updateContainerResources: unary(R, 'UpdateContainerResources', 'update_container', cri.UpdateContainerResourcesRequest, cri.UpdateContainerResourcesResponse, { subject: ofContainer }),
  reopenContainerLog: unary(R, 'ReopenContainerLog', 'reopen_container_log', cri.ReopenContainerLogRequest, cri.ReopenContainerLogResponse, { subject: ofContainer }),
  execSync: unary(R, 'ExecSync', 'exec_sync', cri.ExecSyncRequest, cri.ExecSyncResponse, { subject: ofContainer, deadline: execTimeout }),
  exec: unary(R, 'Exec', 'exec', cri.ExecRequest, cri.ExecResponse, { subject: ofContainer }),
  attach: unary(R, 'Attach', 'attach', cri.AttachRequest, cri.AttachResponse, { subject: ofContainer }),
  portForward: unary(R, 'PortForward', 'port_forward', cri.PortForwardRequest, cri.PortForwardResponse, { subject: ofSandbox }),
  containerStats: unary(R, 'ContainerStats', 'container_stats', cri.ContainerStatsRequest, cri.ContainerStatsResponse, { subject: ofContainer }),
  listContainerStats: unary(R, 'ListContainerStats', 'list_container_stats', cri.ListContainerStatsRequest, cri.ListContainerStatsResponse),
  streamContainerStats: streaming(R, 'StreamContainerStats', 'stream_container_stats', cri.StreamContainerStatsRequest, cri.StreamContainerStatsResponse),
  podSandboxStats: unary(R, 'PodSandboxStats', 'podsandbox_stats', cri.PodSandboxStatsRequest, cri.PodSandboxStatsResponse, { subject: ofSandbox }),
  listPodSandboxStats: unary(R, 'ListPodSandboxStats', 'list_podsandbox_stats', cri.ListPodSandboxStatsRequest, cri.ListPodSandboxStatsResponse),
  streamPodSandboxStats: streaming(R, 'StreamPodSandboxStats', 'stream_podsandbox_stats', cri.StreamPodSandboxStatsRequest, cri.StreamPodSandboxStatsResponse),
  updateRuntimeConfig: unary(R, 'UpdateRuntimeConfig', 'update_runtime_config', cri.UpdateRuntimeConfigRequest, cri.UpdateRuntimeConfigResponse),
  status: unary(R, 'Status', 'status', cri.StatusRequest, cri.StatusResponse),
  checkpointContainer: unary(R, 'CheckpointContainer', 'checkpoint_container', cri.CheckpointContainerRequest, cri.CheckpointContainerResponse, { subject: ofContainer, deadline: ownTimeout }),
  getContainerEvents: streaming(R, 'GetContainerEvents', 'get_container_events', cri.GetEventsRequest, cri.ContainerEventResponse, { deadline: 'none' }),
  listMetricDescriptors: unary(R, 'ListMetricDescriptors', 'list_metric_descriptors', cri.ListMetricDescriptorsRequest, cri.ListMetricDescriptorsResponse),
  listPodSandboxMetrics: unary(R, 'ListPodSandboxMetrics', 'list_podsandbox_metrics', cri.ListPodSandboxMetricsRequest, cri.ListPodSandboxMetricsResponse),
  streamPodSandboxMetrics: streaming(R, 'StreamPodSandboxMetrics', 'stream_podsandbox_metrics', cri.StreamPodSandboxMetricsRequest, cri.StreamPodSandboxMetricsResponse),
  runtimeConfig: unary(R, 'RuntimeConfig', 'runtime_config', cri.RuntimeConfigRequest, cri.RuntimeConfigResponse),
  updatePodSandboxResources: unary(R, 'UpdatePodSandboxResources', 'update_podsandbox_resources', cri.UpdatePodSandboxResourcesRequest, cri.UpdatePodSandboxResourcesResponse, { subject: ofSandbox }),
  listImages: unary(I, 'ListImages', 'list_images', cri.ListImagesRequest, cri.ListImagesResponse),
  streamImages: streaming(I, 'StreamImages', 'stream_images', cri.StreamImagesRequest, cri.StreamImagesResponse),
  imageStatus: unary(I, 'ImageStatus', 'image_status', cri.ImageStatusRequest, cri.ImageStatusResponse, { subject: ofImage }),
  pullImage: unary(I, 'PullImage', 'pull_image', cri.PullImageRequest, cri.PullImageResponse, { subject: ofImage, deadline: 'long' }),
  removeImage: unary(I, 'RemoveImage', 'remove_image', cri.RemoveImageRequest, cri.RemoveImageResponse, { subject: ofImage }),
  imageFsInfo: unary(I, 'ImageFsInfo', 'image_fs_info', cri.ImageFsInfoRequest, cri.ImageFsInfoResponse),
};

/**
 * How many milliseconds of its limit a call may use when all is well.
 *
 * That is what its request allows, such as a stop's grace period; the whole limit for `long`; otherwise 0.
 */
export function ownTimeOf<Request>(
  { deadline }: { readonly deadline: DeadlineRule<Request> },
  request: Request,
): number {
  if (typeof deadline === 'function') return (deadline(request) ?? 0) * 1000;
  return deadline === 'long' ? LONG_TIMEOUT_MS : 0;
}

/** Whether a call is a stream without an end of its own, and not a list that comes in pieces. */
export function isEndless({
  streaming,
  deadlineMs,
}: {
  readonly streaming: boolean;
  readonly deadlineMs: number | undefined;
}): boolean {
  return streaming && deadlineMs === undefined;
}

/** The name of a CRI method on the client. */
export type CriMethodName = keyof typeof CRI_METHODS;

// An image may be large and its registry slow; a caller that wants a shorter limit passes a signal.
const LONG_TIMEOUT_MS = 3_600_000;

/**
 * The deadline of a call in milliseconds; undefined for none.
 *
 * @param ownTimeoutMs the caller's own limit, which replaces the method's; Infinity for none.
 * @param defaultTimeoutMs the client's limit, which the method's rule builds on.
 */
export function deadlineOf<Request>(
  { deadline }: { readonly deadline: DeadlineRule<Request> },
  request: Request,
  ownTimeoutMs: number | undefined,
  defaultTimeoutMs: number,
): number | undefined {
  if (ownTimeoutMs !== undefined) return Number.isFinite(ownTimeoutMs) ? ownTimeoutMs : undefined;
  if (typeof deadline === 'function') {
    const ownSeconds = deadline(request);
    return ownSeconds === undefined ? undefined : defaultTimeoutMs + ownSeconds * 1000;
  }
  switch (deadline) {
    case 'default':
      return defaultTimeoutMs;
    case 'double':
      return 2 * defaultTimeoutMs;
    case 'long':
      return LONG_TIMEOUT_MS;
    case 'none':
      return undefined;
  }
}
