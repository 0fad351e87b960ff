import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { RUNTIME_OPERATION_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry, type Sample } from '../registry/metrics-registry.js';

/** The runtime's client, as far as it is reported. */
export interface RuntimeCalls {
  callsInFlight(): readonly CriCall[];
  /** Fields and messages that this version of podloop cannot parse, since the start. */
  readonly counters: { readonly unknownFields: number; readonly malformedMessages: number };
  readonly connectionState: string;
  /** How many times the connection was established. */
  readonly connectionGeneration: number;
}

/** CRI has fewer methods in all versions together. */
const MAX_OPERATIONS = 64;
const CONNECTION_STATES = ['idle', 'connecting', 'ready', 'failing', 'closed'] as const;

/**
 * Counts and times the calls of the runtime, and reports those under way.
 *
 * The stream of events does not count, as it lasts as long as the agent. A call that its caller cancelled
 * counts as a call but not as an error: the runtime did nothing wrong.
 */
export function addRuntimeOperationMetrics(registry: MetricsRegistry, client: RuntimeCalls): void {
  const operations = new BoundedValues(MAX_OPERATIONS);
  addFinishedCalls(registry, operations);
  addCallsInFlight(registry, client, operations);
  registry.readCounter(
    {
      name: 'podloop_cri_unknown_fields_total',
      help: 'Fields in answers of the runtime that this version does not know and passed over.',
    },
    () => client.counters.unknownFields,
  );
  registry.readCounter(
    {
      name: 'podloop_cri_malformed_messages_total',
      help: 'Messages of the runtime that could not be decoded.',
    },
    () => client.counters.malformedMessages,
  );
  registry.readGauge(
    {
      name: 'podloop_cri_connection_state',
      help: 'How the connection to the runtime is: 1 for its state, 0 for the others.',
      labels: ['state'],
    },
    () =>
      CONNECTION_STATES.map((state) => ({
        labels: { state },
        value: client.connectionState === state ? 1 : 0,
      })),
  );
  registry.readCounter(
    {
      name: 'podloop_cri_connections_total',
      help: 'How many times the connection to the runtime came up.',
    },
    () => client.connectionGeneration,
  );
}

function addFinishedCalls(registry: MetricsRegistry, operations: BoundedValues): void {
  const labels = ['operation_type'] as const;
  const total = registry.counter({
    ...{ name: 'kubelet_runtime_operations_total', labels },
    help: 'Calls of the runtime that ended, by operation.',
  });
  const errors = registry.counter({
    ...{ name: 'kubelet_runtime_operations_errors_total', labels },
    help: 'Calls of the runtime that failed or were not answered in time, by operation.',
  });
  const duration = registry.histogram(
    {
      ...{ name: 'kubelet_runtime_operations_duration_seconds', labels },
      help: 'How long calls of the runtime took, by operation.',
    },
    RUNTIME_OPERATION_BUCKETS,
  );
  const abandoned = registry.counter({
    ...{ name: 'podloop_runtime_operations_abandoned_total', labels },
    help: 'Calls of the runtime that whoever made them no longer wanted, by operation.',
  });
  const deadlines = registry.counter({
    ...{ name: 'podloop_runtime_operations_timeouts_total', labels },
    help: 'Calls of the runtime that were not answered in time, by operation; part of the errors.',
  });
  const bytes = registry.counter({
    ...{ name: 'podloop_runtime_operations_response_bytes_total', labels },
    help: 'Bytes of answers of the runtime, by operation.',
  });
  registry.listen(criCallEnded, ({ call, durationMs, outcome, responseBytes }) => {
    if (isEventStream(call)) return;
    const label = { operation_type: operations.take(call.operation) };
    total.inc(label);
    duration.observe(label, durationMs / 1_000);
    if (responseBytes > 0) bytes.inc(label, responseBytes);
    if (outcome === 'ok') return;
    if (outcome === 'aborted') abandoned.inc(label);
    else errors.inc(label);
    if (outcome === 'CRI_DEADLINE_EXCEEDED') deadlines.inc(label);
  });
}

function addCallsInFlight(registry: MetricsRegistry, client: RuntimeCalls, operations: BoundedValues): void {
  const labels = ['operation_type'] as const;
  /**
   * The number of calls under way of each operation, and since when the oldest of them is, in monotonic
   * milliseconds.
   */
  const read = registry.oncePerScrape(() => {
    const byOperation = new Map<string, { count: number; oldestMs: number }>();
    for (const call of client.callsInFlight()) {
      if (isEventStream(call)) continue;
      const operation = operations.take(call.operation);
      const known = byOperation.get(operation) ?? { count: 0, oldestMs: call.startedAtMonotonicMs };
      known.count++;
      known.oldestMs = Math.min(known.oldestMs, call.startedAtMonotonicMs);
      byOperation.set(operation, known);
    }
    return byOperation;
  });
  registry.readGauge(
    {
      ...{ name: 'podloop_runtime_operations_in_flight', labels },
      help: 'Calls that the runtime has not answered yet, by operation.',
    },
    () =>
      [...read()].map(([operation, { count }]): Sample<'operation_type'> => ({
        labels: { operation_type: operation },
        value: count,
      })),
  );
  registry.readGauge(
    {
      ...{ name: 'podloop_runtime_operations_oldest_in_flight_seconds', labels },
      help: 'For how long the oldest call that the runtime has not answered yet has waited, by operation.',
    },
    () =>
      [...read()].map(([operation, { oldestMs }]): Sample<'operation_type'> => ({
        labels: { operation_type: operation },
        value: (registry.clock.monotonicMs() - oldestMs) / 1_000,
      })),
  );
  // Not by operation: the series of an operation without a call disappears, and an alert on it would never
  // clear.
  registry.readGauge(
    {
      name: 'podloop_runtime_oldest_call_seconds',
      help: 'For how long the oldest call that the runtime has not answered yet has waited; 0 without one.',
    },
    () => {
      const oldest = [...read().values()].map(({ oldestMs }) => registry.clock.monotonicMs() - oldestMs);
      return Math.max(0, ...oldest) / 1_000;
    },
  );
}

function isEventStream({ operation }: CriCall): boolean {
  return operation === 'get_container_events';
}
