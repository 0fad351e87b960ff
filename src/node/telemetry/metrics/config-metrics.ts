import { configDelivered, configUpdateHandedOut, sourceLookEnded } from '#base/channels/config-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** There are four. */
const MAX_SOURCES = 16;

/** Reports what the sources of pods want, their problems, and how long reading takes. */
export function addConfigMetrics(registry: MetricsRegistry): void {
  const sources = new BoundedValues(MAX_SOURCES);
  addDeliveries(registry, sources);
  addLooks(registry, sources);
  const types = new BoundedValues(16);
  const updates = registry.counter({
    name: 'podloop_config_pod_changes_total',
    help: 'Pods that were handed to the sync loop as changed, by source and kind of change.',
    labels: ['source', 'type'],
  });
  registry.listen(configUpdateHandedOut, ({ source, type, pods }) =>
    updates.inc({ source: sources.take(source), type: types.take(type) }, pods),
  );
}

function addDeliveries(registry: MetricsRegistry, sources: BoundedValues): void {
  const labels = ['source'] as const;
  const deliveries = registry.counter({
    ...{ name: 'podloop_config_deliveries_total', labels },
    help: 'How often a source delivered the pods that it wants.',
  });
  const folded = registry.counter({
    ...{ name: 'podloop_config_changes_folded_total', labels },
    help: 'Changes of pods that took the place of one that nobody had read yet.',
  });
  const newest = new Map<string, { pods: number; refused: number; isComplete: boolean }>();
  registry.listen(configDelivered, ({ source, pods, refused, folded: count, isComplete }) => {
    const name = sources.take(source);
    deliveries.inc({ source: name });
    if (count > 0) folded.inc({ source: name }, count);
    newest.set(name, { pods, refused, isComplete });
  });
  const gauges = [
    ['podloop_config_pods', 'Pods that a source wants, refused ones included.', 'pods'],
    ['podloop_config_refused_pods', 'Pods of a source that another source has already.', 'refused'],
    ['podloop_config_source_complete', 'Whether a source has seen all that it is to read.', 'isComplete'],
  ] as const;
  for (const [name, help, field] of gauges) {
    registry.readGauge({ name, help, labels }, () =>
      [...newest].map(([source, facts]) => ({ labels: { source }, value: Number(facts[field]) })),
    );
  }
}

function addLooks(registry: MetricsRegistry, sources: BoundedValues): void {
  const labels = ['source'] as const;
  const duration = registry.histogram(
    {
      ...{ name: 'podloop_config_look_duration_seconds', labels },
      help: 'How long a source took to read what it watches.',
    },
    DEFAULT_BUCKETS,
  );
  const errors = registry.counter({
    ...{ name: 'podloop_config_look_errors_total', labels },
    help: 'Reads of a source that failed.',
  });
  const problems = new Map<string, number>();
  registry.listen(sourceLookEnded, (look) => {
    const source = sources.take(look.source);
    duration.observe({ source }, look.durationMs / 1_000);
    if (look.error !== undefined) errors.inc({ source });
    problems.set(source, look.problems);
  });
  registry.readGauge(
    {
      ...{ name: 'podloop_config_problems', labels },
      help: 'Problems of the manifests of a source at its last read.',
    },
    () => [...problems].map(([source, value]) => ({ labels: { source }, value })),
  );
}
