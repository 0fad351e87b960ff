import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { addEventLoopMetrics } from './event-loop-metrics.js';
import { addJournalMetrics } from './journal-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addProcessMetrics, sumNetworkBytes } from './process-metrics.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

describe('the metrics of the process', () => {
  it('are those of this process', async () => {
    using registry = new MetricsRegistry({ channels, clock: new FakeClock() });
    addProcessMetrics(registry);
    const read = await scrape(registry);
    const name = 'process_start_time_seconds';
    const upSeconds = Date.now() / 1_000 - read(name)!;
    // Both clocks of the kernel count in hundredths, and the wall's may have been set since the start.
    expect(Math.abs(upSeconds - process.uptime())).toBeLessThan(60);
    expect(read('process_resident_memory_bytes')).toBeGreaterThan(10e6);
    expect(read('process_virtual_memory_bytes')).toBeGreaterThan(read('process_resident_memory_bytes')!);
    expect(read('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(read('process_open_fds')).toBeGreaterThan(2);
    expect(read('process_max_fds')).toBeGreaterThan(read('process_open_fds')!);
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  });

  it('sum up the bytes of all interfaces', () => {
    const text = [
      'Inter-|   Receive                     |  Transmit',
      ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets',
      '    lo:     100       2    0    0    0     0          0         0      100       2 0',
      '  eth0:20 1 0 0 0 0 0 0 3 1 0',
    ].join('\n');
    expect(sumNetworkBytes(text)).toEqual({ receivedBytes: 120, sentBytes: 103 });
    expect(sumNetworkBytes('')).toEqual({ receivedBytes: undefined, sentBytes: undefined });
  });
});

describe('the metrics of the event loop', () => {
  it('show how late it was and how busy', async () => {
    using registry = new MetricsRegistry({ channels, clock: new FakeClock() });
    addEventLoopMetrics(
      registry,
      () => ({ p99Ms: 40, maxMs: 500 }),
      () => ({ active: 1_500, idle: 2_000 }),
    );
    const read = await scrape(registry);
    expect(read('podloop_event_loop_delay_max_seconds')).toBe(0.5);
    expect(read('podloop_event_loop_delay_p99_seconds')).toBe(0.04);
    expect(read('podloop_event_loop_active_seconds_total')).toBe(1.5);
    expect(read('podloop_event_loop_idle_seconds_total')).toBe(2);
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  });

  it('are of this process by default', async () => {
    using registry = new MetricsRegistry({ channels, clock: new FakeClock() });
    addEventLoopMetrics(registry, () => ({ p99Ms: 0, maxMs: 0 }));
    expect((await scrape(registry))('podloop_event_loop_active_seconds_total')).toBeGreaterThan(0);
  });
});

describe('the metrics of the history', () => {
  it('show what was written, what waits, and that nothing can be written now', async () => {
    using registry = new MetricsRegistry({ channels, clock: new FakeClock() });
    let trouble: string | undefined = 'no space left';
    addJournalMetrics(registry, () => ({
      ...{ queued: 1, written: 2, dropped: 3, writeErrors: 4, damaged: 5, bytes: 6, trouble },
    }));
    const read = await scrape(registry);
    expect(read('podloop_journal_records_written_total')).toBe(2);
    expect(read('podloop_journal_records_dropped_total')).toBe(3);
    expect(read('podloop_journal_records_queued')).toBe(1);
    expect(read('podloop_journal_size_bytes')).toBe(6);
    expect(read('podloop_journal_failing')).toBe(1);
    trouble = undefined;
    expect((await scrape(registry))('podloop_journal_failing')).toBe(0);
    expect(await registry.text()).not.toContain('no space');
    expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  });
});
