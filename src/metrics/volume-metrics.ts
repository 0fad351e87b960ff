import { orphanedVolumesCleaned, volumeSetUpEnded } from '../util/volume-channels.js';
import { BoundedValues } from './bounded-values.js';
import { VOLUME_BUCKETS } from './buckets.js';
import { type MetricsRegistry } from './metrics-registry.js';

/** The kubelet's names of the plugins that volumes are of, by the field that says what a volume is. */
const PLUGINS: Readonly<Record<string, string>> = {
  emptyDir: 'kubernetes.io/empty-dir',
  hostPath: 'kubernetes.io/host-path',
  configMap: 'kubernetes.io/configmap',
  secret: 'kubernetes.io/secret',
  downwardAPI: 'kubernetes.io/downward-api',
  projected: 'kubernetes.io/projected',
};

/** Times what is done for volumes of pods, and tells of what is left of pods that are gone. */
export function addVolumeMetrics(registry: MetricsRegistry): void {
  const duration = registry.histogram(
    {
      name: 'storage_operation_duration_seconds',
      help: 'How long it took to make volumes of pods or to bring them up to date, by plugin and result.',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    },
    VOLUME_BUCKETS,
  );
  const plugins = new BoundedValues(16);
  registry.listen(volumeSetUpEnded, ({ source, durationMs, isSetUp }) =>
    duration.observe(
      {
        volume_plugin: plugins.take(PLUGINS[source] ?? source),
        operation_name: 'volume_mount',
        status: isSetUp ? 'success' : 'fail-unknown',
        migrated: 'false',
      },
      durationMs / 1_000,
    ),
  );
  let orphans = { cleaned: 0, failed: 0 };
  registry.listen(orphanedVolumesCleaned, (newest) => (orphans = newest));
  registry.readGauge(
    {
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'Pods that were gone and whose volumes were given back when that was last looked for.',
    },
    () => orphans.cleaned,
  );
  registry.readGauge(
    {
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'Pods that are gone and whose volumes could not be given back when that was last tried.',
    },
    () => orphans.failed,
  );
}
