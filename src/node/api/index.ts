/**
 * What an agent and an observer have in common when they serve a node: the transport, and the routes that only read.
 *
 * @module
 */
export { allowOwnHosts } from './access/check-host.js';
export { authorizeOwner } from './access/authorize-owner.js';
export { ApiError } from './http/api-error.js';
export { type ApiHandler, jsonAnswer } from './http/api-request.js';
export { ApiRouter } from './http/api-router.js';
export { ApiServer } from './http/api-server.js';
export { type HealthChecks, healthHandlers } from './node/health.js';
export { nodePageHandlers } from './node/node-pages.js';
export { buildReadOnlyRouter } from './node/read-only-routes.js';
export { type ContainerLogs } from './objects/pod-log.js';
export { PodTable, type PodViews } from './objects/pod-table.js';
export { addReadingRoutes } from './objects/reading-routes.js';
export { type ServedPod } from './objects/served-pod.js';
