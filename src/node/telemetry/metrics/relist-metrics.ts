import { relistEnded } from '#base/channels/pleg-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The event generator's health, as far as it is reported; ages in milliseconds. */
export interface RelistHealth {
  readonly healthy: boolean;
  readonly thresholdMs: number;
  /** Wall-clock milliseconds at which the last successful relist began. */
  readonly lastSeenAtMs: number | undefined;
  /** How long a list of all pods has been under way. */
  readonly listInFlightMs: number | undefined;
  readonly stuckPodCount: number;
}

/** Counts relists and their parts, and reports the one under way. */
export function addRelistMetrics(registry: MetricsRegistry, health: () => RelistHealth): void {
  addFinishedRelists(registry);
  const read = registry.oncePerScrape(health);
  registry.readGauge(
    {
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'When the last relist that succeeded began, in seconds since the epoch; 0 before the first.',
    },
    () => (read().lastSeenAtMs ?? 0) / 1_000,
  );
  registry.readGauge(
    {
      name: 'podloop_pleg_relist_in_progress',
      help: 'Whether a list of all pods is under way: 1 or 0.',
    },
    () => (read().listInFlightMs === undefined ? 0 : 1),
  );
  registry.readGauge(
    {
      name: 'podloop_pleg_relist_in_progress_seconds',
      help: 'For how long the list of all pods that is under way has been; 0 when none is.',
    },
    () => (read().listInFlightMs ?? 0) / 1_000,
  );
  registry.readGauge(
    {
      name: 'podloop_pleg_healthy',
      help: 'Whether the event generator is healthy: 1 or 0.',
    },
    () => (read().healthy ? 1 : 0),
  );
  registry.readGauge(
    {
      name: 'podloop_pleg_threshold_seconds',
      help: 'After how long without a relist the event generator counts as unhealthy.',
    },
    () => read().thresholdMs / 1_000,
  );
  registry.readGauge(
    {
      name: 'podloop_pleg_stuck_pods',
      help: 'Pods whose inspection hangs or fails; they hold up nobody else.',
    },
    () => read().stuckPodCount,
  );
}

function addFinishedRelists(registry: MetricsRegistry): void {
  const duration = registry.histogram(
    {
      name: 'kubelet_pleg_relist_duration_seconds',
      help: 'How long relists of all pods took, until nobody needed to wait for them.',
    },
    DEFAULT_BUCKETS,
  );
  const interval = registry.histogram(
    {
      name: 'kubelet_pleg_relist_interval_seconds',
      help: 'From the begin of one relist of all pods that succeeded to the begin of the next.',
    },
    DEFAULT_BUCKETS,
  );
  const podDuration = registry.histogram(
    { name: 'kubelet_pleg_pod_relist_duration_seconds', help: 'How long relists of a single pod took.' },
    DEFAULT_BUCKETS,
  );
  const part = registry.histogram(
    {
      name: 'podloop_pleg_relist_part_duration_seconds',
      help: 'How long each part of the relists of all pods took: list, compare, inspect.',
      labels: ['part'],
    },
    DEFAULT_BUCKETS,
  );
  const relists = registry.counter({
    name: 'podloop_pleg_relists_total',
    help: 'Relists by scope (all, pod), what asked for them, and whether they succeeded.',
    labels: ['scope', 'trigger', 'result'],
  });
  const triggers = new BoundedValues(16);
  registry.listen(relistEnded, (end) => {
    const { scope, durationMs, sinceLastMs, listMs, diffMs, error } = end;
    const result = error === undefined ? 'success' : 'failure';
    relists.inc({ scope, trigger: triggers.take(end.trigger), result });
    if (scope === 'pod') {
      podDuration.observe(durationMs / 1_000);
      return;
    }
    duration.observe(durationMs / 1_000);
    if (sinceLastMs !== undefined) interval.observe(sinceLastMs / 1_000);
    if (error !== undefined) return;
    part.observe({ part: 'list' }, listMs / 1_000);
    part.observe({ part: 'compare' }, diffMs / 1_000);
    part.observe({ part: 'inspect' }, Math.max(0, durationMs - listMs - diffMs) / 1_000);
  });
}
