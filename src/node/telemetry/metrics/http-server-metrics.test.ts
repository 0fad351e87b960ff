import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import {
  httpConnectionDropped,
  type HttpRequest,
  httpRequestEnded,
  httpRequestStarted,
} from '#base/channels/http-channels.js';
import { addHttpServerMetrics } from './http-server-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

let registry: MetricsRegistry;

beforeEach(() => {
  registry = new MetricsRegistry({ channels, clock: new FakeClock() });
  addHttpServerMetrics(registry);
});

afterEach(() => {
  registry[Symbol.dispose]();
});

const requestOf = (path: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  ...{ server: 'readonly', method: 'GET', path, longRunning: false },
  ...more,
});

describe('the metrics of the agent’s servers', () => {
  it('count requests as they come, those under way while they are, and time them at their end', async () => {
    const logs = requestOf('/containerLogs/:namespace/:name/:container', {
      ...{ server: 'readwrite', longRunning: true },
    });
    const page = requestOf('/metrics/cadvisor');
    for (const request of [logs, page, page]) channels.publish(httpRequestStarted, request);
    channels.publish(httpRequestEnded, { request: page, code: 200, durationMs: 20 });
    const ofLogs = {
      ...{ method: 'GET', path: 'containerLogs', server_type: 'readwrite', long_running: 'true' },
    };
    const ofPage = {
      ...{ method: 'GET', path: 'metrics/cadvisor', server_type: 'readonly', long_running: 'false' },
    };
    const read = await scrape(registry);
    expect(read('kubelet_http_requests_total', ofLogs)).toBe(1);
    expect(read('kubelet_http_requests_total', ofPage)).toBe(2);
    expect(read('kubelet_http_inflight_requests', ofLogs)).toBe(1);
    expect(read('kubelet_http_inflight_requests', ofPage)).toBe(0);
    expect(read('kubelet_http_requests_duration_seconds_sum', ofPage)).toBe(0.02);
    expect(read('kubelet_http_requests_duration_seconds_count', ofLogs)).toBeUndefined();
    expect(read('podloop_http_responses_total', { server_type: 'readonly', code: '200' })).toBe(1);
  });

  it('name the paths of Kubernetes’ API as they are written, and keep them few whatever comes', async () => {
    channels.publish(
      httpRequestStarted,
      requestOf('/api/v1/namespaces/:namespace/pods/:name/exec', { server: 'socket' }),
    );
    expect(await registry.text()).toContain('path="api/v1/namespaces/:namespace/pods/:name/exec"');
    for (let i = 0; i < 500; i++)
      channels.publish(httpRequestStarted, requestOf(`/p${i}`, { method: `M${i}` }));
    const page = readMetricsPage(await registry.text());
    expect(page.get('kubelet_http_requests_total')!.samples.length).toBeLessThan(120);
    expect(findMetricsFaults(page)).toEqual([]);
  });

  it('know a method that comes late, whichever others were made up before', async () => {
    for (let i = 0; i < 100; i++)
      channels.publish(httpRequestStarted, requestOf('/pods', { method: `M${i}` }));
    channels.publish(httpRequestStarted, requestOf('/pods', { method: 'DELETE' }));
    const read = await scrape(registry);
    const labels = { path: 'pods', server_type: 'readonly', long_running: 'false' };
    expect(read('kubelet_http_requests_total', { ...labels, method: 'other' })).toBe(100);
    expect(read('kubelet_http_requests_total', { ...labels, method: 'DELETE' })).toBe(1);
  });

  it('count who speaks WebSocket by what is streamed', async () => {
    const exec = '/api/v1/namespaces/:namespace/pods/:name/exec';
    for (const isWebSocket of [true, false])
      channels.publish(httpRequestStarted, requestOf(exec, { isWebSocket }));
    channels.publish(httpRequestStarted, requestOf('/portForward/:namespace/:name', { isWebSocket: true }));
    channels.publish(httpRequestStarted, requestOf('/pods', { isWebSocket: true }));
    const read = await scrape(registry);
    const name = 'kubelet_websocket_streaming_requests_total';
    expect(read(name, { subresource: 'exec' })).toBe(1);
    expect(read(name, { subresource: 'portforward' })).toBe(1);
    expect((await registry.text()).match(/^kubelet_websocket_streaming_requests_total/gm)).toHaveLength(2);
  });

  it('count connections that were closed as there were too many', async () => {
    channels.publish(httpConnectionDropped, { server: 'readonly' });
    const read = await scrape(registry);
    expect(read('podloop_http_connections_dropped_total', { server_type: 'readonly' })).toBe(1);
  });
});
