import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { definePublishingChannel } from '#base/channels/publishing-channel.js';
import { MetricsRegistry } from './metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const clock = new FakeClock();
let registry: MetricsRegistry;

beforeEach(() => {
  registry = new MetricsRegistry({ channels, clock });
});

afterEach(() => {
  registry[Symbol.dispose]();
});

const sampleOf = async (name: string): Promise<number | undefined> =>
  readMetricsPage(await registry.text()).get(name)?.samples[0]?.value;

describe('a registry of metrics', () => {
  it('writes a page that a scraper can read, in the order of names', async () => {
    const colours = registry.counter({ name: 'b_total', help: 'Things.', labels: ['colour'] });
    colours.inc({ colour: 'a "deep"\nblue \\' }, 2);
    registry.histogram({ name: 'c_seconds', help: 'Times.' }, [1, 2]).observe(1.5);
    registry.readGauge({ name: 'a_pods', help: 'Pods.' }, () => 3);
    const page = readMetricsPage(await registry.text());
    expect([...page.keys()]).toEqual([
      ...['a_pods', 'b_total', 'c_seconds'],
      ...['podloop_metrics_listener_errors_total', 'podloop_metrics_read_errors_total'],
    ]);
    expect(page.get('b_total')!.samples).toEqual([
      { name: 'b_total', labels: { colour: 'a "deep"\nblue \\' }, value: 2 },
    ]);
    expect(page.get('c_seconds')!.samples.map(({ labels: { le = '' }, value }) => [le, value])).toEqual([
      ['1', 0],
      ['2', 1],
      ['+Inf', 1],
      ['', 1.5],
      ['', 1],
    ]);
    expect(findMetricsFaults(page)).toEqual([]);
  });

  it('reads again at each scrape, and forgets series that are gone', async () => {
    let pods = ['a', 'b'];
    const samples = () => pods.map((pod) => ({ labels: { pod }, value: pod.length }));
    registry.readGauge({ name: 'now', help: 'Now.', labels: ['pod'] }, samples);
    registry.readCounter({ name: 'ever_total', help: 'Ever.', labels: ['pod'] }, samples);
    await registry.text();
    pods = ['b'];
    const page = readMetricsPage(await registry.text());
    for (const name of ['now', 'ever_total']) {
      expect(page.get(name)!.samples).toEqual([{ name, labels: { pod: 'b' }, value: 1 }]);
    }
  });

  it('reads what belongs together once for each scrape', async () => {
    let reads = 0;
    const read = registry.oncePerScrape(() => ++reads);
    registry.readGauge({ name: 'first', help: 'First.' }, read);
    registry.readGauge({ name: 'second', help: 'Second.' }, read);
    expect([await sampleOf('first'), await sampleOf('second'), reads]).toEqual([1, 2, 2]);
  });

  it('leaves out what cannot be read, says so, and has all the rest', async () => {
    let isBroken = true;
    registry.readGauge({ name: 'broken', help: 'Broken.' }, () => {
      if (isBroken) throw new Error('no');
      return 1;
    });
    registry.readGauge({ name: 'whole', help: 'Whole.' }, () => 5);
    registry.beforeScrape(() => Promise.reject(new Error('neither')));
    const page = readMetricsPage(await registry.text());
    expect(page.get('broken')!.samples).toEqual([]);
    expect(page.get('whole')!.samples[0]!.value).toBe(5);
    expect(page.get('podloop_metrics_read_errors_total')!.samples).toMatchObject([
      { labels: { metric: 'broken' }, value: 1 },
    ]);
    isBroken = false;
    expect(await sampleOf('broken')).toBe(1);
  });

  it('lets the event loop turn while it writes a long page', async () => {
    let nowMs = 0;
    let slices = 0;
    const slow = new MetricsRegistry({
      channels,
      clock: Object.assign(new FakeClock(), { monotonicMs: () => nowMs }),
      yieldToLoop: async () => Promise.resolve(slices++),
    });
    for (let i = 0; i < 20; i++) slow.readGauge({ name: `slow_${i}`, help: 'Slow.' }, () => (nowMs += 2));
    await slow.text();
    expect(slices).toBe(6);
  });

  it('lets it turn within a metric that has thousands of series, and writes each of them once', async () => {
    let nowMs = 0;
    const times: { last: number; longest: number } = { last: 0, longest: 0 };
    const names = (): string[] => Array.from({ length: 2_000 }, (_, i) => `pod-${i}`);
    const slow = new MetricsRegistry({
      channels,
      // Each look at the clock is as long as the lines of one series are in the making.
      clock: Object.assign(new FakeClock(), { monotonicMs: () => (nowMs += 0.1) }),
      yieldToLoop: async () => {
        times.longest = Math.max(times.longest, nowMs - times.last);
        times.last = nowMs;
        // What happens meanwhile does no harm.
        durations.remove({ pod: 'pod-1' });
        durations.observe({ pod: 'pod-1' }, 1);
      },
    });
    const durations = slow.seriesHistogram({ name: 'd_seconds', help: 'Times.', labels: ['pod'] }, [1, 2]);
    const total = slow.counter({ name: 'd_total', help: 'Things.', labels: ['pod'] });
    for (const pod of names()) {
      durations.observe({ pod }, 1.5);
      total.inc({ pod });
    }
    const pieces = await slow.page();
    expect(pieces.length).toBeGreaterThan(3);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(70_000);
    expect(times.longest).toBeLessThan(6);
    const page = readMetricsPage(Buffer.concat(pieces).toString());
    expect(page.get('d_seconds')!.samples).toHaveLength(2_000 * 5);
    expect(page.get('d_total')!.samples).toHaveLength(2_000);
    expect(findMetricsFaults(page)).toEqual([]);
  });

  it('gives up with the reason of a signal, between two slices, too', async () => {
    await expect(registry.text(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    const leaving = new AbortController();
    let nowMs = 0;
    const slow = new MetricsRegistry({
      channels,
      clock: Object.assign(new FakeClock(), { monotonicMs: () => (nowMs += 10) }),
      yieldToLoop: async () => leaving.abort(new Error('left')),
    });
    await expect(slow.page(leaving.signal)).rejects.toThrow('left');
  });

  it('counts a message that cannot be counted, and lets it harm nobody', async () => {
    const channel = definePublishingChannel<number>('podloop:test:metrics-registry');
    const times = registry.histogram({ name: 'time_seconds', help: 'Time.' }, [1]);
    registry.listen(channel, (value) => times.observe(value));
    for (const value of [1, Number.NaN, 2]) channels.publish(channel, value);
    const read = await scrape(registry);
    expect(read('time_seconds_count')).toBe(2);
    expect(read('podloop_metrics_listener_errors_total', { channel: channel.name })).toBe(1);
  });

  it('hears channels until it is disposed of', async () => {
    const channel = definePublishingChannel<number>('podloop:test:metrics-registry');
    const sum = registry.counter({ name: 'sum_total', help: 'Sum.' });
    registry.listen(channel, (value) => sum.inc(value));
    channels.publish(channel, 3);
    // By another agent.
    new Channels().publish(channel, 5);
    registry[Symbol.dispose]();
    channels.publish(channel, 4);
    expect(channels.isHeard(channel)).toBe(false);
    expect(await sampleOf('sum_total')).toBe(3);
  });
});
