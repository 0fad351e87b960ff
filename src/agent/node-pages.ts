import { type CriClient } from '../cri/index.js';
import { type NodePages } from '../server/node-pages.js';
import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { type AgentOptions } from './agent-options.js';
import { type AgentMetrics } from './metrics/agent-metrics.js';
import { type AgentParts } from './agent-parts.js';
import { kubeletConfigPage } from './kubelet-config/kubelet-config-page.js';
import { type NodeIdentity } from './node-facts/node-identity.js';
import { plegReportJson } from './pleg-report/pleg-report-json.js';
import { type PlegReporter } from './pleg-report/pleg-reporter.js';
import { buildUsagePages } from './usage-pages.js';

/** What {@link buildNodePages} wires. */
export interface NodePagesOptions {
  readonly options: AgentOptions;
  readonly parts: AgentParts;
  readonly metrics: Pick<AgentMetrics, 'metrics' | 'probes'>;
  readonly identity: NodeIdentity;
  readonly client: CriClient;
  readonly plegReporter: Pick<PlegReporter, 'read'>;
  readonly runtime: { readonly name: string; readonly version: string };
  /** podloop's. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How each page about the node is made: one line each. */
export function buildNodePages(given: NodePagesOptions): NodePages {
  const { options, parts, metrics, plegReporter, identity, client, clock, logger } = given;
  const { cache, paths, closing } = parts;
  const usage = buildUsagePages({
    ...{ client, cache, paths, clock, logger },
    ...{ nodeName: identity.name, ending: closing.signal },
  });
  return {
    '/metrics': (signal) => metrics.metrics(signal),
    '/metrics/probes': (signal) => metrics.probes(signal),
    '/debug/pleg': () => plegReportJson(plegReporter.read()),
    '/configz': () => kubeletConfigPage(options),
    '/metrics/cadvisor': (signal) => usage.cadvisor(signal),
    '/metrics/resource': (signal) => usage.resource(signal),
    '/stats/summary': (signal) => usage.summary(signal),
  };
}
