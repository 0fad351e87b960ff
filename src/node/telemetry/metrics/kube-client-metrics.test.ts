import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { kubeExecEnded, type KubeRequestEnd, kubeRequestEnded } from '#base/channels/kube-client-channels.js';
import { addKubeClientMetrics } from './kube-client-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const clock = new FakeClock();
let registry: MetricsRegistry;

beforeEach(() => {
  registry = new MetricsRegistry({ channels, clock });
  addKubeClientMetrics(registry, () => clock.now());
});

afterEach(() => {
  registry[Symbol.dispose]();
});

const end = (more: Partial<KubeRequestEnd>): KubeRequestEnd => ({
  ...{ method: 'GET', host: 'api:6443', code: 200, durationMs: 30, requestBytes: 0, responseBytes: 300 },
  ...{ heldBackMs: 0, tries: 0 },
  ...more,
});

it('counts requests to the API server by their answers, and those that had none', async () => {
  for (const each of [
    end({}),
    end({}),
    end({ method: 'PUT', code: 409 }),
    end({ code: undefined, tries: 1 }),
  ]) {
    channels.publish(kubeRequestEnded, each);
  }
  // A watch has begun, and nobody knows how long it gets.
  channels.publish(kubeRequestEnded, end({ responseBytes: undefined, heldBackMs: 2_000 }));
  expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([]);
  const read = await scrape(registry);
  const host = 'api:6443';
  expect(read('rest_client_requests_total', { code: '200', method: 'GET', host })).toBe(3);
  expect(read('rest_client_requests_total', { code: '409', method: 'PUT', host })).toBe(1);
  expect(read('rest_client_requests_total', { code: '<error>', method: 'GET', host })).toBe(1);
  expect(read('rest_client_request_retries_total', { code: '<error>', verb: 'GET', host })).toBe(1);
  expect(read('rest_client_request_duration_seconds_count', { verb: 'GET', host })).toBe(4);
  expect(read('rest_client_rate_limiter_duration_seconds_sum', { verb: 'GET', host })).toBe(2);
  expect(read('rest_client_response_size_bytes_count', { verb: 'GET', host })).toBe(3);
});

it('shows for how long the credentials of a program are valid', async () => {
  const read = async (): Promise<number | undefined> =>
    (await scrape(registry))('rest_client_exec_plugin_ttl_seconds');
  expect(await read()).toBe(Infinity);
  channels.publish(kubeExecEnded, { exitCode: 0, expiresAtMs: clock.now() + 90_000 });
  expect(await read()).toBe(90);
});
