import { type Channels } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import {
  addEventGeneratorMetrics,
  addEventLoopMetrics,
  addHttpServerMetrics,
  addJournalMetrics,
  addLogMetrics,
  addNodeMetrics,
  addProcessMetrics,
  addRelistMetrics,
  addRuntimeOperationMetrics,
  type LogState,
  MetricsRegistry,
} from '#node/telemetry';
import { type CriClient, EventLoopDelay, type Pleg } from '#watch';
import { type NodeReporter } from '../cluster/node-reporter.js';
import { type RuntimeIdentity } from '../runtime/runtime-identity.js';
import { type ObserverHistory } from './observer-history.js';

/** What {@link makeObserverMetrics} reads. */
export interface ObserverMetricsOptions {
  readonly client: Pick<CriClient, 'callsInFlight' | 'counters' | 'connectionState' | 'connectionGeneration'>;
  readonly pleg: Pick<Pleg, 'health' | 'state'>;
  readonly history: Pick<ObserverHistory, 'facts'>;
  readonly runtime: Pick<RuntimeIdentity, 'name' | 'version'>;
  readonly log: LogState;
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  readonly channels: Channels;
  readonly clock: Clock;
}

/** Stalls that delay what an observer promises are no shorter, and each sample wakes it. */
const LOOP_RESOLUTION_MS = 1_000;

/** The metrics of an observer: those of an agent about the runtime and itself. Counts from now on. */
export function makeObserverMetrics(options: ObserverMetricsOptions): {
  readonly registry: MetricsRegistry;
  readonly loopDelay: EventLoopDelay;
} {
  const { client, pleg, history, runtime, log, nodeName, version, channels, clock } = options;
  const registry = new MetricsRegistry({ clock, channels });
  const loopDelay = new EventLoopDelay({ clock, resolutionMs: LOOP_RESOLUTION_MS });
  registry.onDispose(() => loopDelay[Symbol.dispose]());
  addNodeMetrics(registry, { nodeName, version, runtime, cgroupVersion: undefined });
  addProcessMetrics(registry);
  addEventLoopMetrics(registry, () => loopDelay.read());
  addJournalMetrics(registry, () => history.facts);
  addLogMetrics(registry, log);
  addRelistMetrics(registry, () => pleg.health());
  addEventGeneratorMetrics(registry, () => pleg.state());
  addRuntimeOperationMetrics(registry, client);
  addHttpServerMetrics(registry);
  return { registry, loopDelay };
}

/** What became of reports to a cluster, under the names that an agent has for its events. */
export function addReportMetrics(
  registry: MetricsRegistry,
  reporter: Pick<NodeReporter, 'eventStats' | 'conditionStats'>,
): void {
  const outcomes = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value }));
  registry.readCounter(
    {
      ...{ name: 'podloop_cluster_events_total', labels: ['outcome'] },
      help: 'What became of events: created, counted, combined, filtered, folded, overflowed, rejected, abandoned, postponed, nameless.',
    },
    () => {
      const { waiting: _waiting, ...became } = reporter.eventStats;
      return outcomes({ ...became });
    },
  );
  registry.readGauge(
    { name: 'podloop_cluster_events_waiting', help: 'Events that wait to be written.' },
    () => reporter.eventStats.waiting,
  );
  registry.readCounter(
    {
      ...{ name: 'podloop_node_condition_patches_total', labels: ['outcome'] },
      help: 'Patches of the condition of the Node: written, failed.',
    },
    () => outcomes({ ...reporter.conditionStats }),
  );
}
