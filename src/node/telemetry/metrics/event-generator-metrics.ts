import { inspectionEnded, runtimeEventReceived } from '#base/channels/pleg-channels.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The event generator's state, as far as it is reported. */
export interface EventGeneratorState {
  readonly periodMs: number;
  readonly pods: number;
  readonly runningPods: number;
  readonly containersByState: Readonly<Record<string, number>>;
  readonly inspections: {
    readonly inspections: number;
    readonly failures: number;
    readonly displaced: number;
    readonly queued: number;
    readonly due: number;
    readonly told: { readonly used: number; readonly agreed: number; readonly refuted: number };
    readonly announcedEarly: number;
  };
  readonly inspectionsInFlight: { readonly length: number };
  readonly requests: { readonly queued: number; readonly coalesced: number; readonly folded: number };
  readonly stream: {
    readonly state: string;
    readonly connects: number;
    readonly ups: number;
    readonly failures: number;
    readonly received: number;
    readonly announced: number;
    readonly missed: number;
    readonly contradicted: number;
  };
  /** Published lifecycle events, by type. */
  readonly events: Readonly<Record<string, number>>;
  /** For all subscribers, including former ones. */
  readonly delivery: { readonly queued: number; readonly delivered: number; readonly folded: number };
}

/** The states of the runtime's event stream. */
const STREAM_STATES = ['off', 'connecting', 'up', 'waiting', 'unsupported'] as const;

/**
 * Reports what the event generator sees, what it is about to inspect, and the state of the runtime's events.
 */
export function addEventGeneratorMetrics(registry: MetricsRegistry, state: () => EventGeneratorState): void {
  const read = registry.oncePerScrape(state);
  addSeen(registry, read);
  addInspections(registry, read);
  addRuntimeEvents(registry, read);
  addDelivery(registry, read);
}

function addSeen(registry: MetricsRegistry, read: () => EventGeneratorState): void {
  registry.readGauge({ name: 'kubelet_running_pods', help: 'Pods with a running sandbox.' }, () => {
    return read().runningPods;
  });
  registry.readGauge(
    {
      name: 'kubelet_running_containers',
      help: 'Containers by the state that the runtime shows, running or not.',
      labels: ['container_state'],
    },
    () =>
      Object.entries(read().containersByState).map(([state, value]) => ({
        labels: { container_state: state },
        value,
      })),
  );
  registry.readGauge(
    { name: 'podloop_pleg_pods', help: 'Pods in the last list, running or not.' },
    () => read().pods,
  );
  registry.readGauge(
    {
      name: 'podloop_pleg_relist_period_seconds',
      help: 'The relist period in force, from the end of one relist to the begin of the next.',
    },
    () => read().periodMs / 1_000,
  );
}

function addInspections(registry: MetricsRegistry, read: () => EventGeneratorState): void {
  const gauges = [
    ['podloop_pleg_pods_due', 'Pods that changed and have not been inspected since.', 'due'],
    ['podloop_pleg_inspections_queued', 'Inspections that wait for their turn.', 'queued'],
  ] as const;
  for (const [name, help, field] of gauges) {
    registry.readGauge({ name, help }, () => read().inspections[field]);
  }
  registry.readGauge(
    { name: 'podloop_pleg_inspections_in_flight', help: 'Inspections under way.' },
    () => read().inspectionsInFlight.length,
  );
  const duration = registry.histogram(
    {
      name: 'podloop_pleg_inspection_duration_seconds',
      help: 'How long inspections of pods took that ended by themselves, failed ones included.',
    },
    DEFAULT_BUCKETS,
  );
  registry.listen(inspectionEnded, ({ durationMs }) => duration.observe(durationMs / 1_000));
  const counters = [
    ['podloop_pleg_inspections_total', 'Inspections of pods that were begun.', 'inspections'],
    ['podloop_pleg_inspection_errors_total', 'Inspections of pods that failed.', 'failures'],
    [
      'podloop_pleg_inspections_displaced_total',
      'Hung inspections that were given up to make room for others.',
      'displaced',
    ],
    [
      'podloop_pleg_ends_told_at_once_total',
      'Ends of containers that were published straight from an event, before a list showed them.',
      'announcedEarly',
    ],
  ] as const;
  for (const [name, help, field] of counters) {
    registry.readCounter({ name, help }, () => read().inspections[field]);
  }
  registry.readCounter(
    {
      name: 'podloop_pleg_told_statuses_total',
      help: 'Statuses of pods that came with events: used without asking, and what became of those that the runtime was asked about all the same.',
      labels: ['result'],
    },
    () =>
      (['used', 'agreed', 'refuted'] as const).map((result) => ({
        labels: { result },
        value: read().inspections.told[result],
      })),
  );
  registry.readGauge(
    { name: 'podloop_pleg_requests_queued', help: 'Pods for which a list of their own was requested.' },
    () => read().requests.queued,
  );
  registry.readCounter(
    {
      name: 'podloop_pleg_requests_coalesced_total',
      help: 'Requests for a list of one pod that joined one which was waiting.',
    },
    () => read().requests.coalesced,
  );
  registry.readCounter(
    {
      name: 'podloop_pleg_requests_folded_total',
      help: 'Requests for a list of one pod that became part of a list of all.',
    },
    () => read().requests.folded,
  );
}

function addRuntimeEvents(registry: MetricsRegistry, read: () => EventGeneratorState): void {
  const counters = [
    [
      'kubelet_evented_pleg_connection_success_count',
      'How often the stream of events of the runtime came up.',
      'ups',
    ],
    [
      'kubelet_evented_pleg_connection_error_count',
      'How often the stream of events of the runtime broke, ended or was refused.',
      'failures',
    ],
    [
      'podloop_pleg_stream_connects_total',
      'How often the stream of events of the runtime was asked for.',
      'connects',
    ],
    ['podloop_pleg_runtime_events_total', 'Events that came from the runtime.', 'received'],
    [
      'podloop_pleg_changes_announced_total',
      'Changes that a relist found and an event had announced.',
      'announced',
    ],
    ['podloop_pleg_changes_missed_total', 'Changes that a relist found and no event announced.', 'missed'],
    [
      'podloop_pleg_events_contradicted_total',
      'Events of the runtime that its next list did not show yet.',
      'contradicted',
    ],
  ] as const;
  for (const [name, help, field] of counters)
    registry.readCounter({ name, help }, () => read().stream[field]);
  registry.readGauge(
    {
      name: 'podloop_pleg_stream_state',
      help: 'State of the stream of runtime events: 1 for its state, 0 for the others.',
      labels: ['state'],
    },
    () => STREAM_STATES.map((state) => ({ labels: { state }, value: read().stream.state === state ? 1 : 0 })),
  );
  const latency = registry.histogram(
    {
      name: 'kubelet_evented_pleg_connection_latency_seconds',
      help: 'From when the runtime made an event, by its clock, until it came.',
    },
    DEFAULT_BUCKETS,
  );
  registry.listen(runtimeEventReceived, ({ delayMs }) => latency.observe(Math.max(0, delayMs) / 1_000));
}

function addDelivery(registry: MetricsRegistry, read: () => EventGeneratorState): void {
  registry.readCounter(
    {
      name: 'kubelet_pleg_discard_events',
      help: 'Events that were lost because a queue was full: none ever is, see podloop_pleg_events_folded_total.',
    },
    () => 0,
  );
  registry.readCounter(
    {
      name: 'podloop_pleg_events_folded_total',
      help: 'Events that were folded into one for their pod, or for all, because a subscriber was slow.',
    },
    () => read().delivery.folded,
  );
  registry.readCounter(
    { name: 'podloop_pleg_events_delivered_total', help: 'Events that subscribers have read.' },
    () => read().delivery.delivered,
  );
  registry.readGauge(
    { name: 'podloop_pleg_events_queued', help: 'Events that wait to be read by a subscriber.' },
    () => read().delivery.queued,
  );
  registry.readCounter(
    {
      name: 'podloop_pleg_events_total',
      help: 'Lifecycle events of pods that were made, by type.',
      labels: ['type'],
    },
    () => Object.entries(read().events).map(([type, value]) => ({ labels: { type }, value })),
  );
}
