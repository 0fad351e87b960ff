import { kubeExecEnded, kubeRequestEnded } from '#base/channels/kube-client-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The buckets of the kubelet's client, in seconds and in bytes. */
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60] as const;
const BYTES = [
  64, 256, 512, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
] as const;
const BY_VERB = ['verb', 'host'] as const;
/** The kubelet's code for a request without an answer. */
const NO_CODE = '<error>';

/** Counts and times the requests that the agent sends to the API server of its cluster. */
export function addKubeClientMetrics(registry: MetricsRegistry, nowMs: () => number): void {
  const total = registry.counter({
    name: 'rest_client_requests_total',
    help: 'Requests that were sent to the API server, by the code of the answer; watches once they have begun.',
    labels: ['code', 'method', 'host'],
  });
  const retries = registry.counter({
    name: 'rest_client_request_retries_total',
    help: 'Requests that were sent once more.',
    labels: ['code', 'verb', 'host'],
  });
  const duration = registry.histogram(
    {
      name: 'rest_client_request_duration_seconds',
      help: 'How long the API server took to answer; watches to begin.',
      labels: BY_VERB,
    },
    SECONDS,
  );
  const heldBack = registry.histogram(
    {
      name: 'rest_client_rate_limiter_duration_seconds',
      help: 'How long requests waited because of kubeAPIQPS and kubeAPIBurst.',
      labels: BY_VERB,
    },
    SECONDS,
  );
  const sent = registry.histogram(
    { name: 'rest_client_request_size_bytes', help: 'Size of requests to the API server.', labels: BY_VERB },
    BYTES,
  );
  const received = registry.histogram(
    {
      name: 'rest_client_response_size_bytes',
      help: 'Size of the answers of the API server, watches not counted.',
      labels: BY_VERB,
    },
    BYTES,
  );
  const codes = new BoundedValues(64);
  registry.listen(kubeRequestEnded, (end) => {
    const { method, host } = end;
    const code = end.code === undefined ? NO_CODE : codes.take(String(end.code));
    const labels = { verb: method, host };
    total.inc({ code, method, host });
    if (end.tries > 0) retries.inc({ code, ...labels });
    duration.observe(labels, end.durationMs / 1_000);
    heldBack.observe(labels, end.heldBackMs / 1_000);
    sent.observe(labels, end.requestBytes);
    if (end.responseBytes !== undefined) received.observe(labels, end.responseBytes);
  });
  let endsAtMs: number | undefined;
  registry.listen(kubeExecEnded, (end) => (endsAtMs = end.expiresAtMs));
  registry.readGauge(
    {
      name: 'rest_client_exec_plugin_ttl_seconds',
      help: 'For how long the credentials that a program handed out are good; +Inf without such a program.',
    },
    () => (endsAtMs === undefined ? Infinity : (endsAtMs - nowMs()) / 1_000),
  );
}
