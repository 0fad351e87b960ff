import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import {
  orphanedVolumesCleaned,
  volumeMeasured,
  volumesTearDownEnded,
  volumeSetUpEnded,
} from '#base/channels/volume-channels.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addVolumeMetrics } from './volume-metrics.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

let clock: FakeClock;
let registry: MetricsRegistry;
let pods: Set<string>;

beforeEach(() => {
  clock = new FakeClock();
  registry = new MetricsRegistry({ channels, clock });
  pods = new Set(['u1', 'u2']);
  const wanted = (): string[] => ['emptyDir', 'emptyDir', 'secret'];
  const mountTools = () => ({ running: 4, waiting: 7, refused: 1, expired: 2 });
  const claims = () => [
    {
      claim: { namespace: 'shop', name: 'data' },
      disk: {
        capacityBytes: 100,
        availableBytes: 60,
        usedBytes: 40,
        inodes: 10,
        inodesFree: 6,
        inodesUsed: 4,
      },
    },
    { claim: { namespace: 'shop', name: 'odd' }, disk: { capacityBytes: 7, inodes: undefined } },
  ];
  addVolumeMetrics(registry, { isKnown: (uid) => pods.has(uid), wanted, mountTools, claims });
});
afterEach(() => {
  registry[Symbol.dispose]();
});

function setUp(volume: string, isSetUp: boolean, source = 'configMap', podUid = 'u1'): void {
  channels.publish(volumeSetUpEnded, { podUid, volume, source, durationMs: 400, isSetUp });
}

describe('the metrics of volumes', () => {
  it('show mounts that wait, and those that were never begun', async () => {
    const read = await scrape(registry);
    expect(read('podloop_mount_tools', { state: 'running' })).toBe(4);
    expect(read('podloop_mount_tools', { state: 'waiting' })).toBe(7);
    expect(read('podloop_mount_tools_not_begun_total', { because: 'too_many' })).toBe(1);
    expect(read('podloop_mount_tools_not_begun_total', { because: 'too_late' })).toBe(2);
  });

  it('show how full claimed volumes are, by namespace and claim, as far as that is known', async () => {
    const read = await scrape(registry);
    const labels = { namespace: 'shop', persistentvolumeclaim: 'data' };
    const names = ['capacity_bytes', 'available_bytes', 'used_bytes', 'inodes', 'inodes_free', 'inodes_used'];
    const ofClaim = (name: string) => read(`kubelet_volume_stats_${name}`, labels);
    expect(names.map(ofClaim)).toEqual([100, 60, 40, 10, 6, 4]);
    const odd = { namespace: 'shop', persistentvolumeclaim: 'odd' };
    expect(read('kubelet_volume_stats_capacity_bytes', odd)).toBe(7);
    expect(read('kubelet_volume_stats_inodes', odd)).toBeUndefined();
  });

  it('time each by its plugin, and show the result of the last clean-up', async () => {
    setUp('a', true);
    channels.publish(volumeSetUpEnded, {
      ...{ podUid: 'u1', volume: 'b', source: 'hostPath', durationMs: 5, isSetUp: false },
    });
    channels.publish(volumesTearDownEnded, {
      ...{ podUid: 'u1', kinds: ['kubernetes.io~empty-dir', 'kubernetes.io~empty-dir'] },
      ...{ durationMs: 2_000, isTornDown: true },
    });
    channels.publish(volumeMeasured, { durationMs: 30 });
    channels.publish(orphanedVolumesCleaned, { cleaned: 3, failed: 1 });
    channels.publish(orphanedVolumesCleaned, { cleaned: 0, failed: 1 });
    const read = await scrape(registry);
    const labels = { operation_name: 'volume_mount', status: 'success', migrated: 'false' };
    const name = 'storage_operation_duration_seconds';
    expect(read(`${name}_sum`, { ...labels, volume_plugin: 'kubernetes.io/configmap' })).toBe(0.4);
    const failed = { ...labels, status: 'fail-unknown', volume_plugin: 'kubernetes.io/host-path' };
    expect(read(`${name}_count`, failed)).toBe(1);
    const gone = { ...labels, operation_name: 'volume_unmount', volume_plugin: 'kubernetes.io/empty-dir' };
    expect(read(`${name}_sum`, gone)).toBe(4);
    expect(read('kubelet_volume_metric_collection_duration_seconds_sum', { metric_source: 'du' })).toBe(0.03);
    expect(read('kubelet_orphan_pod_cleaned_volumes')).toBe(0);
    expect(read('kubelet_orphan_pod_cleaned_volumes_errors')).toBe(1);
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  });

  it('time a volume once, from the first try until it can be used', async () => {
    setUp('a', false);
    await clock.advance(10_000);
    setUp('a', true);
    await clock.advance(10_000);
    setUp('a', true);
    const read = await scrape(registry);
    const labels = { plugin_name: 'kubernetes.io/configmap', operation_name: 'overall_volume_mount' };
    expect(read('volume_operation_total_seconds_sum', labels)).toBe(10.4);
    expect(read('volume_operation_total_seconds_count', labels)).toBe(1);
  });

  it('count volumes that are wanted, and those that are made for as long as they are', async () => {
    setUp('a', true, 'emptyDir');
    setUp('b', false, 'secret');
    setUp('c', true, 'emptyDir', 'u2');
    const total = 'volume_manager_total_volumes';
    const actual = { plugin_name: 'kubernetes.io/empty-dir', state: 'actual_state_of_world' };
    const desired = { ...actual, state: 'desired_state_of_world' };
    let read = await scrape(registry);
    expect([read(total, actual), read(total, desired)]).toEqual([2, 2]);
    expect(read(total, { ...actual, plugin_name: 'kubernetes.io/secret' })).toBeUndefined();
    channels.publish(volumesTearDownEnded, { podUid: 'u1', kinds: [], durationMs: 0, isTornDown: false });
    read = await scrape(registry);
    expect(read(total, actual)).toBe(2);
    channels.publish(volumesTearDownEnded, { podUid: 'u1', kinds: [], durationMs: 0, isTornDown: true });
    read = await scrape(registry);
    expect(read(total, actual)).toBe(1);
    pods.clear();
    read = await scrape(registry);
    expect([read(total, actual), read(total, desired)]).toEqual([undefined, 2]);
  });
});
