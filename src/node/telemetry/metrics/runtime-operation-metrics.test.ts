import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addRuntimeOperationMetrics } from './runtime-operation-metrics.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

let clock: FakeClock;
let registry: MetricsRegistry;
let calls: CriCall[];

beforeEach(() => {
  clock = new FakeClock();
  calls = [];
  registry = new MetricsRegistry({ channels, clock });
  addRuntimeOperationMetrics(registry, {
    callsInFlight: () => calls,
    counters: { unknownFields: 4, malformedMessages: 1 },
    ...{ connectionState: 'ready', connectionGeneration: 2 },
  });
});

afterEach(() => {
  registry[Symbol.dispose]();
});

function callOf(operation: string): CriCall {
  return {
    ...{ id: 1, method: 'Some', operation, streaming: false, deadlineMs: 120_000 },
    ...{ pod: undefined, containerId: undefined, sandboxId: undefined },
    ...{ startedAtMonotonicMs: clock.monotonicMs(), startedAtMs: clock.now() },
  };
}

function end(operation: string, outcome = 'ok', durationMs = 10): void {
  const facts = { unknownFields: 0, responseBytes: 100 };
  channels.publish(criCallEnded, { call: callOf(operation), durationMs, outcome, ...facts });
}

describe('the metrics of calls of the runtime', () => {
  it('count and time each by its operation, and distinguish failures from cancelled calls', async () => {
    end('list_containers', 'ok', 30);
    end('list_containers', 'CRI_DEADLINE_EXCEEDED', 120_000);
    end('list_containers', 'CRI_UNKNOWN', 10);
    end('list_containers', 'aborted', 10);
    end('version');
    const read = await scrape(registry);
    const list = { operation_type: 'list_containers' };
    expect(read('kubelet_runtime_operations_total', list)).toBe(4);
    expect(read('kubelet_runtime_operations_errors_total', list)).toBe(2);
    expect(read('podloop_runtime_operations_timeouts_total', list)).toBe(1);
    expect(read('podloop_runtime_operations_abandoned_total', list)).toBe(1);
    expect(read('podloop_runtime_operations_response_bytes_total', list)).toBe(400);
    expect(read('kubelet_runtime_operations_duration_seconds_count', list)).toBe(4);
    expect(read('kubelet_runtime_operations_duration_seconds_bucket', { ...list, le: '0.03125' })).toBe(3);
    expect(read('kubelet_runtime_operations_total', { operation_type: 'version' })).toBe(1);
    expect(read('kubelet_runtime_operations_errors_total', { operation_type: 'version' })).toBeUndefined();
  });

  it('show how many are under way and how old the oldest is, as of the scrape', async () => {
    calls.push(callOf('stop_container'));
    await clock.advance(20_000);
    calls.push(callOf('stop_container'), callOf('get_container_events'));
    await clock.advance(5_000);
    const stops = { operation_type: 'stop_container' };
    const read = await scrape(registry);
    expect(read('podloop_runtime_operations_in_flight', stops)).toBe(2);
    expect(read('podloop_runtime_operations_oldest_in_flight_seconds', stops)).toBe(25);
    expect(read('podloop_runtime_oldest_call_seconds')).toBe(25);
    calls.length = 0;
    const after = await scrape(registry);
    expect(after('podloop_runtime_operations_in_flight', stops)).toBeUndefined();
    expect(after('podloop_runtime_oldest_call_seconds')).toBe(0);
  });

  it('pass over the stream of events, which lives as long as the agent', async () => {
    end('get_container_events', 'aborted', 1e9);
    expect(await registry.text()).not.toContain('get_container_events');
  });

  it('have bounded labels whatever comes', async () => {
    for (let i = 0; i < 1_000; i++) end(`operation_${i}`);
    const { samples } = readMetricsPage(await registry.text()).get('kubelet_runtime_operations_total')!;
    expect(samples).toHaveLength(65);
    expect(samples.at(-1)).toMatchObject({ labels: { operation_type: 'other' }, value: 936 });
  });

  it('are what promtool would have them be', async () => {
    end('version');
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  });
});
