import { type ApiHandler } from './api-request.js';
import { ApiRouter } from './api-router.js';
import { type HealthChecks, healthHandlers } from './health.js';
import { type NodePagePath } from './node-pages.js';

/** What anybody on the machine may see. */
const OPEN_PAGES: readonly NodePagePath[] = [
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/probes',
  '/metrics/resource',
];

/** The paths of the port that is open to all: health and the metrics, nothing else. */
export function buildReadOnlyRouter(
  checks: HealthChecks,
  pages: ReadonlyMap<NodePagePath, ApiHandler>,
): ApiRouter {
  const router = buildHealthRouter(checks);
  for (const path of OPEN_PAGES) {
    const handler = pages.get(path);
    if (handler !== undefined) router.answer('GET', path, handler);
  }
  return router;
}

/** The paths of the port of health. */
export function buildHealthRouter(checks: HealthChecks): ApiRouter {
  const router = new ApiRouter();
  for (const [path, handler] of healthHandlers(checks, false)) router.answer('GET', path, handler);
  return router;
}
