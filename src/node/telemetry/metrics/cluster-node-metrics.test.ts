import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { scrape } from '#support/clients/metrics-reader.js';
import {
  nodeConnectionDropped,
  nodeLeaseTried,
  nodePressureChanged,
  nodeRegistrationStepped,
  nodeStatusSynced,
} from '#base/channels/node-channels.js';
import { addClusterNodeMetrics } from './cluster-node-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const TIMES = { agentStartedAtMs: 100_000, machineStartedAtMs: 40_000 };
const NAMES = [
  'pre_registration_duration',
  'registration_duration',
  'post_registration_duration',
  'duration',
];

describe('the metrics of a node of a cluster', () => {
  it.each([true, false])('time how it became one, if it was none before: %s', async (isNew) => {
    using registry = new MetricsRegistry({ channels, clock: new FakeClock() });
    addClusterNodeMetrics(registry, TIMES);
    channels.publish(nodeRegistrationStepped, { step: 'attempt', atMs: 101_000 });
    channels.publish(nodeRegistrationStepped, { step: 'registered', atMs: 103_000, isNew });
    channels.publish(nodeRegistrationStepped, { step: 'ready', atMs: 106_000 });
    channels.publish(nodeRegistrationStepped, { step: 'ready', atMs: 900_000 });
    const read = await scrape(registry);
    const durations = NAMES.map((name) => read(`kubelet_node_startup_${name}_seconds`));
    expect(durations).toEqual(isNew ? [1, 2, 3, 66] : [undefined, undefined, undefined, undefined]);
  });

  it('count heartbeats, and show when the last got through', async () => {
    using registry = new MetricsRegistry({ channels, clock: new FakeClock() });
    addClusterNodeMetrics(registry, TIMES);
    let read = await scrape(registry);
    expect(read('podloop_node_lease_last_renewed_time_seconds')).toBeUndefined();
    const looks = { durationMs: 5 };
    channels.publish(nodeStatusSynced, { ...looks, outcome: 'sent', failures: 1, atMs: 7_000 });
    channels.publish(nodeStatusSynced, { ...looks, outcome: 'failed', failures: 5, atMs: 9_000 });
    channels.publish(nodeLeaseTried, { outcome: 'renewed', durationMs: 20, atMs: 8_000 });
    channels.publish(nodeLeaseTried, { outcome: 'failed', durationMs: 9_000, atMs: 17_000 });
    channels.publish(nodeConnectionDropped, { because: 'lease' });
    channels.publish(nodePressureChanged, { condition: 'DiskPressure', isUnderPressure: true });
    read = await scrape(registry);
    expect(read('podloop_node_status_syncs_total', { outcome: 'failed' })).toBe(1);
    expect(read('podloop_node_status_request_failures_total')).toBe(6);
    expect(read('podloop_node_status_last_synced_time_seconds')).toBe(7);
    expect(read('podloop_node_lease_tries_total', { outcome: 'renewed' })).toBe(1);
    expect(read('podloop_node_lease_last_renewed_time_seconds')).toBe(8);
    expect(read('podloop_node_lease_renewal_duration_seconds_count')).toBe(1);
    expect(read('podloop_node_connection_drops_total', { because: 'lease' })).toBe(1);
    expect(read('podloop_node_pressure', { condition: 'DiskPressure' })).toBe(1);
    expect(read('podloop_node_pressure', { condition: 'PIDPressure' })).toBe(0);
  });
});
