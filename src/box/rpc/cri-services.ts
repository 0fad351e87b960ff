/**
 * CRI's two services, put together from a file for each call.
 *
 * In: messages as gRPC has decoded them, and what the runtime consists of ({@link RpcContext}). Out: answers, or
 * RpcError with the code that clients know from other runtimes; what else is thrown becomes Unknown. Each call checks
 * what it is asked before it changes anything.
 *
 * @module
 */
import { type ImageServiceServer, type RuntimeServiceServer } from '#watch/messages';
import { parts, unary } from './adapters.js';
import { attach, exec, getContainerEvents, portForward } from './streams.js';
import {
  containerStats,
  listContainerStats,
  listMetricDescriptors,
  listPodSandboxMetrics,
  listPodSandboxStats,
  podSandboxStats,
  streamContainerStats,
  streamPodSandboxMetrics,
  streamPodSandboxStats,
} from './stats.js';
import {
  containerStatus,
  createContainer,
  execSync,
  listContainers,
  removeContainer,
  reopenContainerLog,
  startContainer,
  stopContainer,
  streamContainers,
  updateContainerResources,
} from './containers.js';
import { imageFsInfo } from './images/image-fs-info.js';
import { imageStatus } from './images/image-status.js';
import { listImages } from './images/list-images.js';
import {
  listPodSandbox,
  podSandboxStatus,
  removePodSandbox,
  runPodSandbox,
  stopPodSandbox,
  streamPodSandboxes,
  updatePodSandboxResources,
} from './sandboxes.js';
import { notImplemented } from './not-implemented.js';
import { pullImage } from './images/pull-image.js';
import { removeImage } from './images/remove-image.js';
import { type RpcContext } from './rpc-context.js';
import { runtimeConfig, status, updateRuntimeConfig, version } from './status.js';
import { streamImages } from './images/stream-images.js';

/** Every method of CRI's RuntimeService: it works, or says in a sentence that it does not. */
export function runtimeService(context: RpcContext): RuntimeServiceServer {
  return {
    version: unary(context, 'Version', version),
    status: unary(context, 'Status', status),
    runtimeConfig: unary(context, 'RuntimeConfig', runtimeConfig),
    updateRuntimeConfig: unary(context, 'UpdateRuntimeConfig', updateRuntimeConfig),

    runPodSandbox: unary(context, 'RunPodSandbox', runPodSandbox),
    stopPodSandbox: unary(context, 'StopPodSandbox', stopPodSandbox),
    removePodSandbox: unary(context, 'RemovePodSandbox', removePodSandbox),
    podSandboxStatus: unary(context, 'PodSandboxStatus', podSandboxStatus),
    listPodSandbox: unary(context, 'ListPodSandbox', listPodSandbox),
    streamPodSandboxes: parts(context, 'StreamPodSandboxes', streamPodSandboxes),
    updatePodSandboxResources: unary(context, 'UpdatePodSandboxResources', updatePodSandboxResources),

    createContainer: unary(context, 'CreateContainer', createContainer),
    startContainer: unary(context, 'StartContainer', startContainer),
    stopContainer: unary(context, 'StopContainer', stopContainer),
    removeContainer: unary(context, 'RemoveContainer', removeContainer),
    containerStatus: unary(context, 'ContainerStatus', containerStatus),
    listContainers: unary(context, 'ListContainers', listContainers),
    streamContainers: parts(context, 'StreamContainers', streamContainers),
    updateContainerResources: unary(context, 'UpdateContainerResources', updateContainerResources),
    reopenContainerLog: unary(context, 'ReopenContainerLog', reopenContainerLog),
    checkpointContainer: notImplemented('checkpointContainer'),

    execSync: unary(context, 'ExecSync', execSync),
    exec: unary(context, 'Exec', exec),
    attach: unary(context, 'Attach', attach),
    portForward: unary(context, 'PortForward', portForward),

    getContainerEvents: (call) => getContainerEvents(context, call),

    containerStats: unary(context, 'ContainerStats', containerStats),
    listContainerStats: unary(context, 'ListContainerStats', listContainerStats),
    streamContainerStats: parts(context, 'StreamContainerStats', streamContainerStats),
    podSandboxStats: unary(context, 'PodSandboxStats', podSandboxStats),
    listPodSandboxStats: unary(context, 'ListPodSandboxStats', listPodSandboxStats),
    streamPodSandboxStats: parts(context, 'StreamPodSandboxStats', streamPodSandboxStats),
    listMetricDescriptors: unary(context, 'ListMetricDescriptors', listMetricDescriptors),
    listPodSandboxMetrics: unary(context, 'ListPodSandboxMetrics', listPodSandboxMetrics),
    streamPodSandboxMetrics: parts(context, 'StreamPodSandboxMetrics', streamPodSandboxMetrics),
  };
}

/** Every method of CRI's ImageService. */
export function imageService(context: RpcContext): ImageServiceServer {
  return {
    listImages: unary(context, 'ListImages', listImages),
    streamImages: parts(context, 'StreamImages', streamImages),
    imageStatus: unary(context, 'ImageStatus', imageStatus),
    pullImage: unary(context, 'PullImage', pullImage),
    removeImage: unary(context, 'RemoveImage', removeImage),
    imageFsInfo: unary(context, 'ImageFsInfo', imageFsInfo),
  };
}
