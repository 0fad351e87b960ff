import { expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '../testing/metrics-page.js';
import { scrape } from '../testing/metrics-reader.js';
import { orphanedVolumesCleaned, volumeSetUpEnded } from '../util/volume-channels.js';
import { MetricsRegistry } from './metrics-registry.js';
import { addVolumeMetrics } from './volume-metrics.js';

it('the metrics of volumes time each by its plugin, and tell what the last clean-up came to', async () => {
  using registry = new MetricsRegistry({ clock: new FakeClock() });
  addVolumeMetrics(registry);
  volumeSetUpEnded.publish({ source: 'configMap', durationMs: 400, isSetUp: true });
  volumeSetUpEnded.publish({ source: 'hostPath', durationMs: 5, isSetUp: false });
  orphanedVolumesCleaned.publish({ cleaned: 3, failed: 1 });
  orphanedVolumesCleaned.publish({ cleaned: 0, failed: 1 });
  const read = await scrape(registry);
  const labels = { operation_name: 'volume_mount', status: 'success', migrated: 'false' };
  const name = 'storage_operation_duration_seconds';
  expect(read(`${name}_sum`, { ...labels, volume_plugin: 'kubernetes.io/configmap' })).toBe(0.4);
  const failed = { ...labels, status: 'fail-unknown', volume_plugin: 'kubernetes.io/host-path' };
  expect(read(`${name}_count`, failed)).toBe(1);
  expect(read('kubelet_orphan_pod_cleaned_volumes')).toBe(0);
  expect(read('kubelet_orphan_pod_cleaned_volumes_errors')).toBe(1);
  expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
});
