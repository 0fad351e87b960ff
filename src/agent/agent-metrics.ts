import { type CriClient } from '../cri/index.js';
import { addEventGeneratorMetrics } from '../metrics/event-generator-metrics.js';
import { addEventLoopMetrics } from '../metrics/event-loop-metrics.js';
import { MetricsRegistry } from '../metrics/metrics-registry.js';
import { addNodeMetrics } from '../metrics/node-metrics.js';
import { addProcessMetrics } from '../metrics/process-metrics.js';
import { addRelistMetrics } from '../metrics/relist-metrics.js';
import { addRuntimeOperationMetrics } from '../metrics/runtime-operation-metrics.js';
import { findCgroupMounts } from '../util/cgroups/cgroup-mounts.js';
import { type Clock } from '../util/clock.js';
import { readOwnMountinfo } from '../util/mountinfo.js';
import { type AgentParts } from './agent-parts.js';

/** What {@link AgentMetrics} reads. */
export interface AgentMetricsOptions {
  readonly parts: Pick<AgentParts, 'pleg'>;
  readonly client: Pick<CriClient, 'callsInFlight' | 'counters' | 'connectionState' | 'connectionGeneration'>;
  readonly identity: { readonly name: string };
  readonly runtime: { readonly name: string; readonly version: string };
  /** podloop's. */
  readonly version: string;
  readonly clock: Clock;
}

/** The numbers of an agent: each page as text, in the format of Prometheus. */
export class AgentMetrics implements Disposable {
  readonly #agent: MetricsRegistry;

  /** Counts from now on: to be made before anything runs. */
  static async start(given: AgentMetricsOptions): Promise<AgentMetrics> {
    const [hierarchy] = findCgroupMounts(await readOwnMountinfo().catch(() => ''));
    return new AgentMetrics(given, hierarchy?.version);
  }

  private constructor(given: AgentMetricsOptions, cgroupVersion: 1 | 2 | undefined) {
    const { parts, client, identity, runtime, version, clock } = given;
    const { pleg } = parts;
    const registry = new MetricsRegistry({ clock });
    addNodeMetrics(registry, { nodeName: identity.name, version, runtime, cgroupVersion });
    addProcessMetrics(registry);
    addEventLoopMetrics(registry);
    addRelistMetrics(registry, () => pleg.health());
    addEventGeneratorMetrics(registry, () => pleg.state());
    addRuntimeOperationMetrics(registry, client);
    this.#agent = registry;
  }

  /** The page /metrics. */
  async metrics(signal?: AbortSignal): Promise<string> {
    return await this.#agent.text(signal);
  }

  /** Counts no more. Idempotent. */
  [Symbol.dispose](): void {
    this.#agent[Symbol.dispose]();
  }
}
