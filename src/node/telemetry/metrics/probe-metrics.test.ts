import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { probeEnded, type ProbeEnd } from '#base/channels/probe-channels.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addProbeMetrics, addProbeStats } from './probe-metrics.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

let registry: MetricsRegistry;
let known: Set<string>;

beforeEach(() => {
  known = new Set(['a', 'b']);
  registry = new MetricsRegistry({ channels, clock: new FakeClock() });
  addProbeMetrics(registry, (uid) => known.has(uid));
});

afterEach(() => {
  registry[Symbol.dispose]();
});

function probe(podUid: string, end: Partial<ProbeEnd> = {}): void {
  channels.publish(probeEnded, {
    ...{ podUid, namespace: 'default', podName: 'web', containerName: 'main', containerId: 'c' },
    ...{ type: 'liveness', outcome: 'success', durationMs: 30, stalledMs: 0, message: '' },
    ...end,
  });
}

const CONTAINER = { container: 'main', pod: 'web', namespace: 'default', probe_type: 'Liveness' };

describe('the metrics of probes', () => {
  it('count results as the kubelet names them, and time them', async () => {
    for (const outcome of ['success', 'warning', 'failure', 'error', 'void'] as const)
      probe('a', { outcome });
    const read = await scrape(registry);
    const total = (result: string) => read('prober_probe_total', { ...CONTAINER, result, pod_uid: 'a' });
    expect(['successful', 'failed', 'unknown'].map(total)).toEqual([2, 1, 1]);
    expect(read('prober_probe_duration_seconds_count', CONTAINER)).toBe(4);
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  });

  it('forget a pod once it is gone, and count nothing more of it', async () => {
    probe('a');
    probe('a', { type: 'readiness', outcome: 'failure' });
    probe('b', { podName: 'db' });
    known.delete('a');
    probe('a');
    const page = readMetricsPage(await registry.text());
    for (const { samples } of page.values()) {
      expect(new Set(samples.map(({ labels }) => labels['pod'] ?? 'db'))).toEqual(
        samples.length > 0 ? new Set(['db']) : new Set(),
      );
    }
  });

  it('keep the times of a pod whose name an earlier one had', async () => {
    probe('a');
    known.delete('a');
    probe('b', { durationMs: 70 });
    const read = await scrape(registry);
    expect(read('prober_probe_total', { ...CONTAINER, result: 'successful', pod_uid: 'a' })).toBeUndefined();
    expect(read('prober_probe_duration_seconds_count', CONTAINER)).toBe(1);
    expect(read('prober_probe_duration_seconds_sum', CONTAINER)).toBe(0.07);
  });

  it('do not grow with pods that come and go while nobody scrapes', async () => {
    for (let i = 0; i < 200; i++) {
      known = new Set([`uid-${i}`]);
      probe(`uid-${i}`, { podName: `pod-${i}` });
    }
    expect((await registry.text()).length).toBeLessThan(5_000);
  });

  it('show the state of all of them', async () => {
    using stats = new MetricsRegistry({ channels, clock: new FakeClock() });
    addProbeStats(stats, () => ({
      workers: 4,
      inFlight: 1,
      waiting: 2,
      voided: 3,
      unanswered: 5,
      heldBack: 6,
    }));
    const read = await scrape(stats);
    expect(read('podloop_probe_workers')).toBe(4);
    expect(read('podloop_probes_voided_total')).toBe(3);
    expect(read('podloop_probe_commands_unanswered_total')).toBe(5);
    expect(read('podloop_probe_commands_held_back_total')).toBe(6);
  });
});
