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
import { attach } from './streams/attach.js';
import { containerStats } from './stats/container-stats.js';
import { containerStatus } from './containers/container-status.js';
import { createContainer } from './containers/create-container.js';
import { exec } from './streams/exec.js';
import { execSync } from './containers/exec-sync.js';
import { getContainerEvents } from './streams/get-container-events.js';
import { imageFsInfo } from './images/image-fs-info.js';
import { imageStatus } from './images/image-status.js';
import { listContainerStats } from './stats/list-container-stats.js';
import { listContainers } from './containers/list-containers.js';
import { listImages } from './images/list-images.js';
import { listMetricDescriptors } from './stats/list-metric-descriptors.js';
import { listPodSandboxMetrics } from './stats/list-pod-sandbox-metrics.js';
import { listPodSandboxStats } from './stats/list-pod-sandbox-stats.js';
import { listPodSandbox } from './sandboxes/list-pod-sandbox.js';
import { notImplemented } from './not-implemented.js';
import { podSandboxStats } from './stats/pod-sandbox-stats.js';
import { podSandboxStatus } from './sandboxes/pod-sandbox-status.js';
import { portForward } from './streams/port-forward.js';
import { pullImage } from './images/pull-image.js';
import { removeContainer } from './containers/remove-container.js';
import { removeImage } from './images/remove-image.js';
import { removePodSandbox } from './sandboxes/remove-pod-sandbox.js';
import { reopenContainerLog } from './containers/reopen-container-log.js';
import { type RpcContext } from './rpc-context.js';
import { runPodSandbox } from './sandboxes/run-pod-sandbox.js';
import { runtimeConfig } from './runtime-config.js';
import { startContainer } from './containers/start-container.js';
import { status } from './status.js';
import { stopContainer } from './containers/stop-container.js';
import { stopPodSandbox } from './sandboxes/stop-pod-sandbox.js';
import { streamContainerStats } from './stats/stream-container-stats.js';
import { streamContainers } from './containers/stream-containers.js';
import { streamImages } from './images/stream-images.js';
import { streamPodSandboxMetrics } from './stats/stream-pod-sandbox-metrics.js';
import { streamPodSandboxStats } from './stats/stream-pod-sandbox-stats.js';
import { streamPodSandboxes } from './sandboxes/stream-pod-sandboxes.js';
import { updateContainerResources } from './containers/update-container-resources.js';
import { updatePodSandboxResources } from './sandboxes/update-pod-sandbox-resources.js';
import { updateRuntimeConfig } from './update-runtime-config.js';
import { version } from './version.js';

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
