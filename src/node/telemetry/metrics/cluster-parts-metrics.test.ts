import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { podStatusReported } from '#base/channels/cluster-pod-channels.js';
import { addClusterPartsMetrics, type ClusterPartsState } from './cluster-parts-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const STATS = { lists: 1, watches: 2, changes: 30, bookmarks: 4, failures: 5, expired: 6, ignored: 7 };
const STATE: ClusterPartsState = {
  followed: [
    { collection: 'pods', isInStep: true, stats: STATS },
    { collection: 'node', isInStep: false, stats: { ...STATS, lists: 9 } },
  ],
  pods: {
    ...{ known: 12, mirrors: 2, unknownFields: 3 },
    statuses: { patches: 40, deletions: 5, failures: 1, folded: 7, pending: 2 },
  },
  objects: { objects: 8, watches: 6, unfollowed: 1 },
  events: {
    ...{ created: 20, counted: 10, combined: 1, filtered: 2, folded: 3, overflowed: 4, rejected: 5 },
    ...{ abandoned: 6, postponed: 8, nameless: 7, waiting: 11 },
  },
};
let registry: MetricsRegistry;
let state: ClusterPartsState | undefined;

beforeEach(() => {
  registry = new MetricsRegistry({ channels, clock: new FakeClock() });
  state = STATE;
  addClusterPartsMetrics(registry, () => state);
});

afterEach(() => {
  registry[Symbol.dispose]();
});

it('shows for each collection whether it is in step, and what its watch has been through', async () => {
  expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  const read = await scrape(registry);
  expect(read('podloop_cluster_in_step', { collection: 'pods' })).toBe(1);
  expect(read('podloop_cluster_in_step', { collection: 'node' })).toBe(0);
  expect(read('podloop_cluster_lists_total', { collection: 'node' })).toBe(9);
  expect(read('podloop_cluster_watch_changes_total', { collection: 'pods' })).toBe(30);
  expect(read('podloop_cluster_watch_expirations_total', { collection: 'pods' })).toBe(6);
});

it('shows pods and statuses, with how long the API server did not know', async () => {
  channels.publish(podStatusReported, { durationMs: 80 });
  channels.publish(podStatusReported, { durationMs: 4_000 });
  const read = await scrape(registry);
  expect(read('podloop_cluster_pods')).toBe(12);
  expect(read('podloop_pod_status_writes_total', { outcome: 'patched' })).toBe(40);
  expect(read('podloop_pod_status_writes_total', { outcome: 'deleted' })).toBe(5);
  expect(read('podloop_pod_status_writes_pending')).toBe(2);
  expect(read('kubelet_pod_status_sync_duration_seconds_bucket', { le: '0.1' })).toBe(1);
  expect(read('kubelet_pod_status_sync_duration_seconds_sum')).toBeCloseTo(4.08);
});

it('shows objects and events', async () => {
  const read = await scrape(registry);
  expect(read('podloop_cluster_objects')).toBe(8);
  expect(read('podloop_cluster_object_watches')).toBe(6);
  expect(read('podloop_cluster_object_watches_rested_total')).toBe(1);
  expect(read('podloop_cluster_events_total', { outcome: 'created' })).toBe(20);
  expect(read('podloop_cluster_events_total', { outcome: 'abandoned' })).toBe(6);
  expect(read('podloop_cluster_events_total', { outcome: 'postponed' })).toBe(8);
  expect(read('podloop_cluster_events_total', { outcome: 'waiting' })).toBeUndefined();
  expect(read('podloop_cluster_events_waiting')).toBe(11);
});

it('says nothing before the agent has joined', async () => {
  state = undefined;
  const read = await scrape(registry);
  expect(read('podloop_cluster_pods')).toBeUndefined();
  expect(read('podloop_metrics_read_errors_total')).toBeUndefined();
});
