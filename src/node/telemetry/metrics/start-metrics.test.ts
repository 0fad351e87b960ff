import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { configDelivered, configUpdateHandedOut, sourceLookEnded } from '#base/channels/config-channels.js';
import { imageAccessJudged, imagePullEnded, imageRequested } from '#base/channels/image-channels.js';
import {
  containerStartEnded,
  orphanFound,
  podAdded,
  podEvicted,
  podStartedAgain,
  sandboxStartEnded,
  userNamespacedStart,
} from '#base/channels/start-channels.js';
import { podSyncEnded } from '#base/channels/worker-channels.js';
import { addConfigMetrics } from './config-metrics.js';
import { addContainerEndMetrics } from './container-end-metrics.js';
import { addImageMetrics } from './image-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addPodCountMetrics, type WorkingPod } from './pod-count-metrics.js';
import { addPodStartMetrics } from './pod-start-metrics.js';
import { addPodWorkerMetrics } from './pod-worker-metrics.js';
import { addServiceMetrics } from './service-metrics.js';
import { addStartMetrics } from './start-metrics.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

let registry: MetricsRegistry;

beforeEach(() => {
  registry = new MetricsRegistry({ channels, clock: new FakeClock() });
});

afterEach(async () => {
  const faults = findMetricsFaults(readMetricsPage(await registry.text()));
  registry[Symbol.dispose]();
  // The kubelet's own names.
  expect(faults.filter((fault) => !/^kubelet_(evictions|containers_per_pod_count) /.test(fault))).toEqual([]);
});

describe('the metrics of what is started', () => {
  it('count sandboxes, those apart that failed, and time what the runtime was asked for', async () => {
    addStartMetrics(registry);
    channels.publish(sandboxStartEnded, { runtimeHandler: '', durationMs: 300, isStarted: true });
    channels.publish(sandboxStartEnded, { runtimeHandler: 'kata', durationMs: 20, isStarted: false });
    channels.publish(sandboxStartEnded, { runtimeHandler: '', durationMs: undefined, isStarted: false });
    const read = await scrape(registry);
    expect(read('kubelet_started_pods_total')).toBe(3);
    expect(read('kubelet_started_pods_errors_total')).toBe(2);
    expect(read('kubelet_run_podsandbox_duration_seconds_sum', { runtime_handler: '' })).toBe(0.3);
    expect(read('kubelet_run_podsandbox_errors_total', { runtime_handler: 'kata' })).toBe(1);
    expect(read('kubelet_run_podsandbox_errors_total', { runtime_handler: '' })).toBeUndefined();
  });

  it('count pods with users of their own apart', async () => {
    addStartMetrics(registry);
    for (const step of ['begun', 'begun', 'failed'] as const) channels.publish(userNamespacedStart, { step });
    const read = await scrape(registry);
    expect(read('kubelet_started_user_namespaced_pods_total')).toBe(2);
    expect(read('kubelet_started_user_namespaced_pods_errors_total')).toBe(1);
  });

  it('count containers by kind, and why they did not start', async () => {
    addStartMetrics(registry);
    channels.publish(containerStartEnded, { containerType: 'container', failure: undefined });
    channels.publish(containerStartEnded, { containerType: 'container', failure: 'ErrImagePull' });
    channels.publish(containerStartEnded, { containerType: 'init_container', failure: undefined });
    const read = await scrape(registry);
    expect(read('kubelet_started_containers_total', { container_type: 'container' })).toBe(2);
    expect(read('kubelet_started_containers_total', { container_type: 'init_container' })).toBe(1);
    const failed = { container_type: 'container', code: 'ErrImagePull' };
    expect(read('kubelet_started_containers_errors_total', failed)).toBe(1);
  });

  it('count pods that come, come again, are evicted, and run though nobody wants them', async () => {
    addStartMetrics(registry);
    channels.publish(podAdded, { uid: 'a', containers: 3, hasNetwork: true });
    channels.publish(podStartedAgain, { isStatic: true });
    channels.publish(orphanFound, { uid: 'b' });
    channels.publish(podEvicted, { signal: 'emptydirfs.limit' });
    channels.publish(podEvicted, { signal: 'memory.available', statsAgeMs: 2_500 });
    const read = await scrape(registry);
    expect(read('kubelet_containers_per_pod_count_bucket', { le: '2' })).toBe(0);
    expect(read('kubelet_containers_per_pod_count_bucket', { le: '4' })).toBe(1);
    expect(read('kubelet_restarted_pods_total', { static: 'true' })).toBe(1);
    expect(read('kubelet_orphaned_runtime_pods_total')).toBe(1);
    expect(read('kubelet_evictions', { eviction_signal: 'emptydirfs.limit' })).toBe(1);
    const memory = { eviction_signal: 'memory.available' };
    expect(read('kubelet_eviction_stats_age_seconds_sum', memory)).toBe(2.5);
    expect(read('kubelet_eviction_stats_age_seconds_count', memory)).toBe(1);
  });

  it('time the starts of pods, and keep the first one with a network', async () => {
    const observer = addPodStartMetrics(registry);
    expect((await scrape(registry))('kubelet_first_network_pod_start_sli_duration_seconds')).toBe(0);
    observer.running(1_500);
    observer.started({ totalMs: 9_000, ownMs: 2_000, hasNetwork: false });
    observer.started({ totalMs: 9_000, ownMs: 3_000, hasNetwork: true });
    observer.started({ totalMs: 9_000, ownMs: 4_000, hasNetwork: true });
    const read = await scrape(registry);
    expect(read('kubelet_pod_start_duration_seconds_sum')).toBe(1.5);
    expect(read('kubelet_pod_start_total_duration_seconds_sum')).toBe(27);
    expect(read('kubelet_pod_start_sli_duration_seconds_sum')).toBe(9);
    expect(read('kubelet_first_network_pod_start_sli_duration_seconds')).toBe(3);
  });

  it('count how containers ended, whatever a runtime makes up', async () => {
    const onEnd = addContainerEndMetrics(registry);
    onEnd({ containerType: 'container', exitCode: 137, reason: 'OOMKilled' });
    for (let i = 0; i < 500; i++) onEnd({ containerType: 'container', exitCode: 1_000 + i, reason: `r${i}` });
    const page = readMetricsPage(await registry.text());
    const { samples } = page.get('kubelet_terminated_containers_total')!;
    expect(samples[0]).toMatchObject({
      labels: { container_type: 'container', exit_code: '137', reason: 'OOMKilled' },
      value: 1,
    });
    expect(samples.length).toBeLessThan(350);
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(501);
  });
});

describe('the metrics of images', () => {
  it('count what was asked for by policy, and time pulls by the size of the image', async () => {
    addImageMetrics(registry, () => ({ pulled: 0, begun: 0, pulls: 0, fetched: 0, total: 0 }));
    channels.publish(imageRequested, { pullPolicy: 'IfNotPresent', isPresent: false, mustPull: true });
    channels.publish(imageRequested, { pullPolicy: 'Never', isPresent: false, mustPull: undefined });
    const pull = { podUid: 'a', startedAtMs: 0, durationMs: 12_000 };
    for (const sizeBytes of [undefined, 0n, 1n, 10n * 1_024n * 1_024n, 10n * 1_024n * 1_024n + 1n, 1n << 40n])
      channels.publish(imagePullEnded, { ...pull, sizeBytes });
    const read = await scrape(registry);
    const name = 'kubelet_image_manager_ensure_image_requests_total';
    const labels = { pull_policy: 'ifnotpresent', present_locally: 'false', pull_required: 'true' };
    expect(read(name, labels)).toBe(1);
    expect(read(name, { ...labels, pull_policy: 'never', pull_required: 'unknown' })).toBe(1);
    expect(read('podloop_image_pull_errors_total')).toBe(1);
    const pulls = (size: string) =>
      read('kubelet_image_pull_duration_seconds_count', { image_size_in_bytes: size });
    expect(['N/A', '0-10MB', '10MB-100MB', 'GT100GB'].map(pulls)).toEqual([1, 2, 1, 1]);
  });

  it('name the configuration of credential provider plugins where there is one', async () => {
    const counts = { pulled: 0, begun: 0, pulls: 0, fetched: 0, total: 0 };
    addImageMetrics(registry, () => counts, 'sha256:ab');
    const read = await scrape(registry);
    expect(read('kubelet_credential_provider_config_info', { hash: 'sha256:ab' })).toBe(1);
  });

  it('count who might use what was there, and what is on the disk of it', async () => {
    addImageMetrics(registry, () => ({ pulled: 3, begun: 1, pulls: 2, fetched: 40, total: 90 }));
    for (const result of ['credentialRecordFound', 'mustAuthenticate', 'mustAuthenticate'] as const) {
      channels.publish(imageAccessJudged, { result });
    }
    const read = await scrape(registry);
    const name = 'kubelet_imagemanager_image_mustpull_checks_total';
    expect(read(name, { result: 'credentialRecordFound' })).toBe(1);
    expect(read(name, { result: 'mustAuthenticate' })).toBe(2);
    expect(read('kubelet_imagemanager_ondisk_pulledrecords')).toBe(3);
    expect(read('kubelet_imagemanager_ondisk_pullintents')).toBe(1);
    const progress = [
      'podloop_image_pulls_in_progress',
      'podloop_image_pull_bytes',
      'podloop_image_pull_fetched_bytes',
    ];
    expect(progress.map((each) => read(each))).toEqual([2, 90, 40]);
  });
});

describe('the metrics of Services', () => {
  it('count them, and questions to the DNS server by what became of them', async () => {
    const dns = {
      answered: 5,
      forwarded: 4,
      failed: 3,
      refused: 2,
      dropped: 1,
      servers: [],
      domain: 'cluster.local',
    };
    addServiceMetrics(registry, () => ({ services: 2, proxied: 6, dns }));
    const read = await scrape(registry);
    expect([read('podloop_services'), read('podloop_service_proxies')]).toEqual([2, 6]);
    const results = ['answered', 'forwarded', 'failed', 'refused', 'dropped'];
    expect(results.map((result) => read('podloop_dns_queries_total', { result }))).toEqual([5, 4, 3, 2, 1]);
  });

  it('are zero where none can be served', async () => {
    addServiceMetrics(registry, () => undefined);
    const read = await scrape(registry);
    expect([read('podloop_services'), read('podloop_dns_queries_total', { result: 'failed' })]).toEqual([
      0, 0,
    ]);
  });
});

describe('the metrics of the pods of a node', () => {
  it('count them by what is wanted of them, with a number for each that could be', async () => {
    const working: WorkingPod[] = [
      { lifecycle: 'sync', config: 'desired', isStatic: true },
      { lifecycle: 'sync', config: 'desired', isStatic: true },
      { lifecycle: 'terminating', config: 'runtime_only', isStatic: false },
    ];
    addPodCountMetrics(registry, () => ({
      ...{ desired: { static: 3, other: 0 }, active: { static: 2, other: 0 } },
      ...{ working, ephemeralContainers: 1, mirrors: 4 },
    }));
    const read = await scrape(registry);
    expect(read('kubelet_desired_pods', { static: 'true' })).toBe(3);
    expect(read('kubelet_desired_pods', { static: '' })).toBe(0);
    expect(read('kubelet_mirror_pods')).toBe(4);
    expect(read('kubelet_active_pods', { static: 'true' })).toBe(2);
    expect(read('kubelet_managed_ephemeral_containers')).toBe(1);
    const pods = (lifecycle: string, config: string, origin: string) =>
      read('kubelet_working_pods', { lifecycle, config, static: origin });
    expect(pods('sync', 'desired', 'true')).toBe(2);
    expect(pods('terminating', 'runtime_only', 'unknown')).toBe(1);
    expect(pods('terminated', 'orphan', '')).toBe(0);
  });

  it('time the work on them by what it was', async () => {
    addPodWorkerMetrics(registry, {
      workers: () => ({ byPhase: { syncing: 2 }, syncing: 1, awaitingView: 0, requeued: 2 }),
      loop: () => ({
        ...{ lastActiveAgoMs: 2_500, errors: ['a', 'b'], podsWithEvents: 4 },
        ...{ foldedEvents: 7, podsWithEarlyEvents: 3, foldedEarlyEvents: 5, longestSliceMs: 12 },
      }),
    });
    const end = { uid: 'a', workType: 'SyncPod', waitedMs: 40, durationMs: 100, error: undefined };
    channels.publish(podSyncEnded, { ...end, reason: 'create' });
    channels.publish(podSyncEnded, { ...end, reason: 'sync', error: new Error('no') });
    channels.publish(podSyncEnded, { ...end, reason: 'sync', workType: 'TerminatedPod' });
    const read = await scrape(registry);
    const count = (operation: string) =>
      read('kubelet_pod_worker_duration_seconds_count', { operation_type: operation });
    expect(['create', 'sync', 'terminated', 'update'].map(count)).toEqual([1, 1, 1, undefined]);
    expect(read('kubelet_pod_worker_start_duration_seconds_sum')).toBe(0.04);
    expect(read('podloop_pod_worker_errors_total', { operation_type: 'sync' })).toBe(1);
    expect(read('podloop_pod_workers', { phase: 'syncing' })).toBe(2);
    expect(read('podloop_sync_loop_last_active_seconds')).toBe(2.5);
    expect(read('podloop_sync_loop_errors')).toBe(2);
    expect(read('podloop_sync_loop_events_folded_total')).toBe(7);
    expect(read('podloop_sync_loop_pods_with_early_events')).toBe(3);
    expect(read('podloop_sync_loop_early_events_folded_total')).toBe(5);
  });

  it('show what their sources want and what is wrong with it', async () => {
    addConfigMetrics(registry);
    channels.publish(configDelivered, { source: 'file', pods: 5, refused: 1, folded: 2, isComplete: false });
    channels.publish(configDelivered, { source: 'file', pods: 4, refused: 0, folded: 0, isComplete: true });
    channels.publish(configUpdateHandedOut, { source: 'file', type: 'ADD', pods: 4 });
    const look = { source: 'file', durationMs: 5, parsed: 1, pods: 4, problems: 3, error: undefined };
    channels.publish(sourceLookEnded, look);
    channels.publish(sourceLookEnded, { ...look, error: 'no such folder' });
    const read = await scrape(registry);
    const file = { source: 'file' };
    expect(read('podloop_config_pods', file)).toBe(4);
    expect(read('podloop_config_source_complete', file)).toBe(1);
    expect(read('podloop_config_refused_pods', file)).toBe(0);
    expect(read('podloop_config_changes_folded_total', file)).toBe(2);
    expect(read('podloop_config_pod_changes_total', { ...file, type: 'ADD' })).toBe(4);
    expect(read('podloop_config_look_errors_total', file)).toBe(1);
    expect(read('podloop_config_look_duration_seconds_count', file)).toBe(2);
    expect(read('podloop_config_problems', file)).toBe(3);
  });
});
