import {
  httpConnectionDropped,
  type HttpRequest,
  httpRequestEnded,
  httpRequestStarted,
} from '#base/channels/http-channels.js';
import { BoundedValues, OTHER } from '../registry/bounded-values.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The agent has fewer paths, including its whole API. */
const MAX_PATHS = 96;
/** The methods of RFC 9110 and 5789: clients may send others, which must not use up the labels. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE']);
/** Streamed requests, in paths of Kubernetes' API and of a kubelet. */
const STREAMED = /\/(exec|attach|portforward)(?:\/|$)/i;
const LABELS = ['method', 'path', 'server_type', 'long_running'] as const;

type RequestLabels = Record<(typeof LABELS)[number], string>;

/** Counts and times the requests that the agent's servers answer. */
export function addHttpServerMetrics(registry: MetricsRegistry): void {
  const total = registry.counter({
    name: 'kubelet_http_requests_total',
    help: 'Requests that came to the agent’s servers.',
    labels: LABELS,
  });
  const duration = registry.histogram(
    {
      name: 'kubelet_http_requests_duration_seconds',
      help: 'How long requests to the agent’s servers lasted; streams for as long as their clients liked.',
      labels: LABELS,
    },
    DEFAULT_BUCKETS,
  );
  const responses = registry.counter({
    name: 'podloop_http_responses_total',
    help: 'Answers of the agent’s servers by code; 0 when the client went before there was one.',
    labels: ['server_type', 'code'],
  });
  const dropped = registry.counter({
    name: 'podloop_http_connections_dropped_total',
    help: 'Connections that were closed, as there were as many as may be, or of strangers.',
    labels: ['server_type'],
  });
  const webSockets = registry.counter({
    name: 'kubelet_websocket_streaming_requests_total',
    help: 'Requests to exec, attach or forward ports whose clients asked to speak WebSocket.',
    labels: ['subresource'],
  });
  const labelsOf = labeller();
  const codes = new BoundedValues(64);
  const inFlight = new Map<HttpRequest, RequestLabels>();
  /** Every series that ever existed, so that it returns to 0 instead of disappearing. */
  const series = new Map<string, RequestLabels>();
  registry.listen(httpRequestStarted, (request) => {
    const labels = labelsOf(request);
    series.set(JSON.stringify(labels), labels);
    inFlight.set(request, labels);
    total.inc(labels);
    const subresource = STREAMED.exec(request.path)?.[1]?.toLowerCase();
    if (request.isWebSocket === true && subresource !== undefined) webSockets.inc({ subresource });
  });
  registry.listen(httpRequestEnded, ({ request, code, durationMs }) => {
    inFlight.delete(request);
    duration.observe({ ...labelsOf(request) }, durationMs / 1_000);
    responses.inc({ server_type: request.server, code: codes.take(String(code)) });
  });
  registry.listen(httpConnectionDropped, ({ server }) => dropped.inc({ server_type: server }));
  registry.readGauge(
    {
      name: 'kubelet_http_inflight_requests',
      help: 'Requests that the agent’s servers are answering.',
      labels: LABELS,
    },
    () => {
      const counts = new Map<string, number>();
      for (const labels of inFlight.values()) {
        const key = JSON.stringify(labels);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      return [...series].map(([key, labels]) => ({ labels, value: counts.get(key) ?? 0 }));
    },
  );
}

function labeller(): (request: HttpRequest) => RequestLabels {
  const paths = new BoundedValues(MAX_PATHS);
  return ({ method, path, server, longRunning }) => ({
    method: METHODS.has(method) ? method : OTHER,
    path: paths.take(nameOf(path)),
    server_type: server,
    long_running: String(longRunning),
  });
}

/**
 * Like a kubelet: `metrics/cadvisor`, `containerLogs` without variable parts; paths of Kubernetes' API as
 * they are.
 */
function nameOf(path: string): string {
  const name = path.replace(/^\//, '');
  return name.startsWith('api') ? name : name.replace(/\/[:*].*$/, '');
}
