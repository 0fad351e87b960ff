/**
 * The handlers of paths that a kubelet has at its port and an API server has not.
 *
 * @module
 */
import { type ApiHandler } from '../http/api-request.js';
import { type ApiRouter } from '../http/api-router.js';
import { checkpointContainer, type ContainerActions, runInContainer } from '../objects/container-actions.js';
import { type FindKubeletPod } from './find-kubelet-pod.js';
import { type HealthChecks, healthHandlers } from './health.js';
import { listAllPods, listRunningPods, readContainerLog, type RunningPod } from './kubelet-pods.js';
import { type NodePagePath } from './node-pages.js';
import { type FileLooks, serveLogFiles } from './serve-log-files.js';

/** Readers of the node. */
export interface NodePorts {
  readonly health: HealthChecks;
  readonly pages: ReadonlyMap<NodePagePath, ApiHandler>;
  readonly runningPods: () => readonly RunningPod[];
  readonly actions: ContainerActions;
  /** The node's own logs. */
  readonly logsDir: string;
  /** Accesses files there. */
  readonly looks: FileLooks;
}

/** Handlers that a kubelet's paths share with Kubernetes' API. */
export interface SharedHandlers {
  readonly listPods: ApiHandler;
  readonly readLog: ApiHandler;
  readonly findPod: FindKubeletPod;
}

/** Adds a kubelet's paths, for clients that may see everything. */
export function addNodeRoutes(router: ApiRouter, ports: NodePorts, shared: SharedHandlers): void {
  const { health, pages, runningPods, actions, logsDir, looks } = ports;
  const { findPod } = shared;
  for (const [path, handler] of healthHandlers(health, true)) router.answer('GET', path, handler);
  for (const [path, handler] of pages) router.answer('GET', path, handler);
  router.answer('GET', '/pods', listAllPods(shared.listPods));
  router.answer('GET', '/runningpods', listRunningPods(runningPods));
  router.answer(
    'GET',
    '/containerLogs/:namespace/:name/:container',
    readContainerLog(shared.readLog, findPod),
  );
  const run = runInContainer({ actions, findPod });
  router.answer('POST', '/run/:namespace/:name/:container', run);
  router.answer('POST', '/run/:namespace/:name/:uid/:container', run);
  const checkpoint = checkpointContainer({ actions, findPod });
  router.answer('POST', '/checkpoint/:namespace/:name/:container', checkpoint);
  const logFiles = serveLogFiles({ logsDir, looks });
  router.answer('GET', '/logs', logFiles);
  router.answer('GET', '/logs/*', logFiles);
}
