/**
 * What a kubelet has at its port and an API server has not: which handler answers which path.
 *
 * @module
 */
import { type ApiHandler } from './api-request.js';
import { type ApiRouter } from './api-router.js';
import { type HealthChecks, healthHandlers } from './health.js';
import { type NodePagePath } from './node-pages.js';

/** What is known of the node. */
export interface NodePorts {
  readonly health: HealthChecks;
  readonly pages: ReadonlyMap<NodePagePath, ApiHandler>;
}

/** Adds the paths of a kubelet, for those who may see everything. */
export function addNodeRoutes(router: ApiRouter, { health, pages }: NodePorts): void {
  for (const [path, handler] of healthHandlers(health, true)) router.answer('GET', path, handler);
  for (const [path, handler] of pages) router.answer('GET', path, handler);
}
