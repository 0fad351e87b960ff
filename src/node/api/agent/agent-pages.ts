import { type Publisher } from '#base/channels/publishing-channel.js';
import { type CriClient, type PlegReporter, plegReportJson } from '#watch';
import { type NodePages } from '../node/node-pages.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type AgentMetrics } from '../../telemetry/collected/agent-metrics.js';
import { type AgentParts } from '../../parts/agent-parts.js';
import { kubeletConfigPage } from '../../options/kubelet-config/kubelet-config-page.js';
import { type NodeIdentity } from '../../resources/facts/node-identity.js';
import { buildUsagePages } from './usage-pages.js';

/** What {@link buildNodePages} needs. */
export interface NodePagesOptions extends Publisher {
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

/** How each page about the node is rendered: one line each. */
export function buildNodePages(given: NodePagesOptions): NodePages {
  const { options, parts, metrics, plegReporter, identity, client, channels, clock, logger } = given;
  const { cache, paths, closing } = parts;
  const usage = buildUsagePages({
    ...{ client, cache, paths, channels, clock, logger },
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
