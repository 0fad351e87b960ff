import { type ApiHandler } from '../http/api-request.js';
import { ApiRouter } from '../http/api-router.js';
import { type HealthChecks, healthHandlers } from './health.js';
import { isOpenPage, type NodePagePath } from './node-pages.js';

/** The paths of the port that is open to all: health and metrics, nothing else. */
export function buildReadOnlyRouter(
  checks: HealthChecks,
  pages: ReadonlyMap<NodePagePath, ApiHandler>,
): ApiRouter {
  const router = buildHealthRouter(checks);
  for (const [path, handler] of pages) if (isOpenPage(path)) router.answer('GET', path, handler);
  return router;
}

/** The paths of the port for health. */
export function buildHealthRouter(checks: HealthChecks): ApiRouter {
  const router = new ApiRouter();
  for (const [path, handler] of healthHandlers(checks, false)) router.answer('GET', path, handler);
  return router;
}
