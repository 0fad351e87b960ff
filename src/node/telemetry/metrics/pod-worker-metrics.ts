import { podSyncEnded } from '#base/channels/worker-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The pod workers' state, as far as it is reported. */
export interface WorkerStats {
  readonly byPhase: Readonly<Record<string, number>>;
  readonly syncing: number;
  readonly awaitingView: number;
  readonly requeued: number;
}

/** The sync loop's state, as far as it is reported. */
export interface LoopStats {
  /** Milliseconds since its last activity; undefined before. */
  readonly lastActiveAgoMs: number | undefined;
  readonly errors: readonly string[];
  readonly podsWithEvents: number;
  readonly foldedEvents: number;
  readonly podsWithEarlyEvents: number;
  readonly foldedEarlyEvents: number;
  readonly longestSliceMs: number;
}

/** Counts and times the work on pods, and reports the progress of the sync loop. */
export function addPodWorkerMetrics(
  registry: MetricsRegistry,
  ports: { readonly workers: () => WorkerStats; readonly loop: () => LoopStats },
): void {
  addFinishedWork(registry);
  const workers = registry.oncePerScrape(ports.workers);
  registry.readGauge(
    {
      name: 'podloop_pod_workers',
      help: 'Pods that are worked on, by where in their life they are.',
      labels: ['phase'],
    },
    () => Object.entries(workers().byPhase).map(([phase, value]) => ({ labels: { phase }, value })),
  );
  const gauges = [
    ['podloop_pod_workers_syncing', 'Pods that something is being done for right now.', 'syncing'],
    [
      'podloop_pod_workers_awaiting_view',
      'Pods with work to do that wait for a newer status from the runtime.',
      'awaitingView',
    ],
    ['podloop_pod_workers_requeued', 'Pods with a time set for their next sync.', 'requeued'],
  ] as const;
  for (const [name, help, field] of gauges) registry.readGauge({ name, help }, () => workers()[field]);
  addLoop(registry, registry.oncePerScrape(ports.loop));
}

function addFinishedWork(registry: MetricsRegistry): void {
  const labels = ['operation_type'] as const;
  const duration = registry.histogram(
    {
      ...{ name: 'kubelet_pod_worker_duration_seconds', labels },
      help: 'From when something was asked for a pod until it was done, by what it was.',
    },
    DEFAULT_BUCKETS,
  );
  const start = registry.histogram(
    {
      name: 'kubelet_pod_worker_start_duration_seconds',
      help: 'From when a pod was wanted until the first work on it began.',
    },
    DEFAULT_BUCKETS,
  );
  const errors = registry.counter({
    ...{ name: 'podloop_pod_worker_errors_total', labels },
    help: 'Work on pods that failed, by what it was.',
  });
  const operations = new BoundedValues(16);
  registry.listen(podSyncEnded, ({ workType, reason, waitedMs, durationMs, error }) => {
    const label = { operation_type: operations.take(workType === 'TerminatedPod' ? 'terminated' : reason) };
    duration.observe(label, durationMs / 1_000);
    if (error !== undefined) errors.inc(label);
    if (reason === 'create') start.observe(waitedMs / 1_000);
  });
}

function addLoop(registry: MetricsRegistry, loop: () => LoopStats): void {
  registry.readGauge(
    {
      name: 'podloop_sync_loop_last_active_seconds',
      help: 'Time since the sync loop last checked for work; missing before the first check.',
    },
    () => {
      const { lastActiveAgoMs } = loop();
      return lastActiveAgoMs === undefined ? undefined : lastActiveAgoMs / 1_000;
    },
  );
  registry.readGauge(
    { name: 'podloop_sync_loop_errors', help: 'Reasons for which no pod is synced; 0 when pods are.' },
    () => loop().errors.length,
  );
  registry.readGauge(
    { name: 'podloop_sync_loop_pods_with_events', help: 'Pods with events that wait to be handled.' },
    () => loop().podsWithEvents,
  );
  registry.readCounter(
    {
      name: 'podloop_sync_loop_events_folded_total',
      help: 'Events that the sync loop folded into one.',
    },
    () => loop().foldedEvents,
  );
  registry.readGauge(
    {
      name: 'podloop_sync_loop_pods_with_early_events',
      help: 'Pods with events that came before every source was read, and that nobody wants yet.',
    },
    () => loop().podsWithEarlyEvents,
  );
  registry.readCounter(
    {
      name: 'podloop_sync_loop_early_events_folded_total',
      help: 'Events of pods that were not wanted yet and were dropped.',
    },
    () => loop().foldedEarlyEvents,
  );
  registry.readGauge(
    {
      name: 'podloop_sync_loop_longest_slice_seconds',
      help: 'The longest time that the sync loop blocked the event loop since the start.',
    },
    () => loop().longestSliceMs / 1_000,
  );
}
