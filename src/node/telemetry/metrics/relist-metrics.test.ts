import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scrape } from '#support/clients/metrics-reader.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { podOf, type PlegHarness, setUpPleg } from '#support/harness/pleg-harness.js';
import { addEventGeneratorMetrics } from './event-generator-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addRelistMetrics } from './relist-metrics.js';

let harness: PlegHarness;
let registry: MetricsRegistry;
let stop: () => Promise<void>;

function begin(options: Parameters<typeof setUpPleg>[0] = {}): void {
  harness = setUpPleg(options);
  registry = new MetricsRegistry({ channels: harness.pleg.channels, clock: harness.clock });
  addRelistMetrics(registry, () => harness.pleg.health());
  addEventGeneratorMetrics(registry, () => harness.pleg.state());
}

beforeEach(() => {
  begin();
  stop = () => Promise.resolve();
});

afterEach(async () => {
  await stop();
  registry[Symbol.dispose]();
});

describe('the metrics of relists', () => {
  it('time each relist of all pods, from begin to begin, and its parts', async () => {
    const { clock, runtime, start } = harness;
    runtime.setPod(podOf('a', { c: 'running' }, { s: 'running' }));
    stop = start();
    await clock.advance(3_500);
    const read = await scrape(registry);
    expect(read('kubelet_pleg_relist_duration_seconds_count')).toBe(4);
    expect(read('kubelet_pleg_relist_interval_seconds_count')).toBe(3);
    expect(read('kubelet_pleg_relist_interval_seconds_sum')).toBe(3);
    expect(read('podloop_pleg_relists_total', { scope: 'all', trigger: 'initial', result: 'success' })).toBe(
      1,
    );
    expect(read('podloop_pleg_relists_total', { scope: 'all', trigger: 'relist', result: 'success' })).toBe(
      3,
    );
    for (const part of ['list', 'compare', 'inspect'])
      expect(read('podloop_pleg_relist_part_duration_seconds_count', { part })).toBe(4);
    expect(read('kubelet_running_pods')).toBe(1);
    expect(read('kubelet_running_containers', { container_state: 'running' })).toBe(1);
    expect(read('podloop_pleg_relist_period_seconds')).toBe(1);
  });

  it('show a relist that hangs while it hangs', async () => {
    const { clock, runtime, start } = harness;
    stop = start();
    await clock.advance(1_500);
    const release = runtime.hangList();
    await clock.advance(500);
    const before = await scrape(registry);
    await clock.advance(60_000);
    const hanging = await scrape(registry);
    expect(hanging('podloop_pleg_relist_in_progress')).toBe(1);
    expect(hanging('podloop_pleg_relist_in_progress_seconds')).toBe(60);
    expect(hanging('kubelet_pleg_last_seen_seconds')).toBe(before('kubelet_pleg_last_seen_seconds'));
    expect(clock.now() / 1_000 - hanging('kubelet_pleg_last_seen_seconds')!).toBe(61);
    expect(hanging('kubelet_pleg_relist_duration_seconds_count')).toBe(2);
    await clock.advance(150_000);
    expect((await scrape(registry))('podloop_pleg_healthy')).toBe(0);
    release();
    await clock.advance(1_500);
    const after = await scrape(registry);
    expect(after('podloop_pleg_healthy')).toBe(1);
    expect(after('podloop_pleg_relist_in_progress')).toBe(0);
    expect(after('podloop_pleg_relist_in_progress_seconds')).toBe(0);
  });

  it('count a pod that hangs as one that is stuck, whatever it is called', async () => {
    const { clock, runtime, start } = harness;
    runtime.setPod(podOf('a', { c: 'running' }));
    runtime.hangStatus('a');
    stop = start();
    await clock.advance(5_000);
    const read = await scrape(registry);
    expect(read('podloop_pleg_stuck_pods')).toBe(1);
    expect(read('podloop_pleg_healthy')).toBe(1);
    expect(read('podloop_pleg_inspections_in_flight')).toBe(1);
    expect(await registry.text()).not.toContain('"a"');
  });

  it('count what failed apart from what succeeded', async () => {
    const { clock, runtime, start } = harness;
    runtime.failList(new Error('no'));
    stop = start();
    await clock.advance(500);
    const read = await scrape(registry);
    expect(read('podloop_pleg_relists_total', { scope: 'all', trigger: 'initial', result: 'failure' })).toBe(
      1,
    );
    expect(read('kubelet_pleg_last_seen_seconds')).toBe(0);
    expect(read('kubelet_pleg_relist_interval_seconds_count')).toBe(0);
  });
});

describe('the metrics of events', () => {
  it('count them by type, and what slow readers had folded, also after those are gone', async () => {
    const { clock, pleg, runtime, events } = harness;
    const slow = pleg.subscribe({ capacity: 1 });
    runtime.setPod(podOf('a', { c: 'running', d: 'running', e: 'running' }));
    await pleg.relist();
    await clock.settle();
    const before = await scrape(registry);
    expect(before('podloop_pleg_events_total', { type: 'ContainerStarted' })).toBe(3);
    expect(before('podloop_pleg_events_folded_total')).toBe(2);
    expect(before('podloop_pleg_events_queued')).toBe(5);
    expect(before('kubelet_pleg_discard_events')).toBe(0);
    slow.close();
    events.close();
    const after = await scrape(registry);
    expect(after('podloop_pleg_events_folded_total')).toBe(2);
    expect(after('podloop_pleg_events_queued')).toBe(0);
  });

  it('follow the stream of the runtime over its ups and downs', async () => {
    begin({ mode: 'evented' });
    const { clock, runtime, start } = harness;
    runtime.setPod(podOf('a', { c: 'running' }));
    stop = start();
    await clock.advance(1_500);
    runtime.events.emit({
      ...{ type: 'stopped', containerId: 'c', podUid: 'a' },
      createdAtNs: BigInt(clock.now() - 250) * 1_000_000n,
    });
    await clock.settle();
    const up = await scrape(registry);
    expect(up('kubelet_evented_pleg_connection_success_count')).toBe(1);
    expect(up('podloop_pleg_stream_state', { state: 'up' })).toBe(1);
    expect(up('podloop_pleg_stream_state', { state: 'waiting' })).toBe(0);
    expect(up('kubelet_evented_pleg_connection_latency_seconds_sum')).toBeCloseTo(0.25, 3);
    expect(up('podloop_pleg_runtime_events_total')).toBe(1);
    runtime.events.break(new Error('gone'));
    await clock.advance(5_000);
    const again = await scrape(registry);
    expect(again('kubelet_evented_pleg_connection_error_count')).toBe(1);
    expect(again('kubelet_evented_pleg_connection_success_count')).toBe(2);
  });

  it('are what promtool would have them be, but for the names that are the kubelet’s', async () => {
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([
      'kubelet_evented_pleg_connection_error_count is a counter and does not end in _total',
      'kubelet_evented_pleg_connection_error_count ends as parts of histograms do',
      'kubelet_evented_pleg_connection_success_count is a counter and does not end in _total',
      'kubelet_evented_pleg_connection_success_count ends as parts of histograms do',
      'kubelet_pleg_discard_events is a counter and does not end in _total',
    ]);
  });
});
