import {
  nodeConnectionDropped,
  nodeLeaseTried,
  nodePressureChanged,
  type NodeRegistrationStep,
  nodeRegistrationStepped,
  nodeStatusSynced,
} from '#base/channels/node-channels.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The start times for {@link addClusterNodeMetrics}; in milliseconds since the epoch. */
export interface ClusterNodeTimes {
  readonly agentStartedAtMs: number;
  /** Undefined where the kernel does not report it. */
  readonly machineStartedAtMs: number | undefined;
}

/** Reports how long it took to become a node of a cluster, and the state of its heartbeats. */
export function addClusterNodeMetrics(registry: MetricsRegistry, times: ClusterNodeTimes): void {
  addStartTimes(registry, times);
  addStatus(registry);
  addLease(registry);
  const drops = registry.counter({
    name: 'podloop_node_connection_drops_total',
    help: 'Times that the connection to the API server was dropped, by whose requests had failed again and again: status, lease.',
    labels: ['because'],
  });
  registry.listen(nodeConnectionDropped, ({ because }) => drops.inc({ because }));
  const pressure = new Map(['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((name) => [name, false]));
  registry.listen(nodePressureChanged, ({ condition, isUnderPressure }) => {
    if (pressure.has(condition)) pressure.set(condition, isUnderPressure);
  });
  registry.readGauge(
    {
      name: 'podloop_node_pressure',
      help: 'Whether the node is short of something, by condition.',
      labels: ['condition'],
    },
    () => [...pressure].map(([condition, isShort]) => ({ labels: { condition }, value: isShort ? 1 : 0 })),
  );
}

/** Like a kubelet, only for Nodes that did not exist before. */
function addStartTimes(registry: MetricsRegistry, times: ClusterNodeTimes): void {
  const { agentStartedAtMs, machineStartedAtMs } = times;
  const at: Partial<Record<NodeRegistrationStep['step'], number>> = {};
  let isNew = false;
  registry.listen(nodeRegistrationStepped, (step) => {
    at[step.step] ??= step.atMs;
    if (step.step === 'registered') isNew = step.isNew;
  });
  const between = (from: number | undefined, to: number | undefined): number | undefined =>
    !isNew || from === undefined || to === undefined ? undefined : Math.max(0, to - from) / 1_000;
  const gauges: readonly [name: string, help: string, read: () => number | undefined][] = [
    [
      'pre_registration_duration',
      'From the start of the agent until it first tried to register its node.',
      () => between(agentStartedAtMs, at.attempt),
    ],
    [
      'registration_duration',
      'From the first try to register the node until it was.',
      () => between(at.attempt, at.registered),
    ],
    [
      'post_registration_duration',
      'From when the node was registered until the API server had it as Ready.',
      () => between(at.registered, at.ready),
    ],
    [
      'duration',
      'From the start of the machine until the API server had its node as Ready.',
      () => between(machineStartedAtMs, at.ready),
    ],
  ];
  for (const [name, help, read] of gauges) {
    registry.readGauge({ name: `kubelet_node_startup_${name}_seconds`, help }, read);
  }
}

function addStatus(registry: MetricsRegistry): void {
  const looks = registry.counter({
    name: 'podloop_node_status_syncs_total',
    help: 'Checks whether the status of the Node is still true, by result: sent, unchanged, failed, gone.',
    labels: ['outcome'],
  });
  const failures = registry.counter({
    name: 'podloop_node_status_request_failures_total',
    help: 'Requests about the status of the Node that failed, those that were tried again included.',
  });
  let lastAtMs: number | undefined;
  registry.listen(nodeStatusSynced, ({ outcome, failures: failed, atMs }) => {
    looks.inc({ outcome });
    failures.inc(failed);
    if (outcome === 'sent' || outcome === 'unchanged') lastAtMs = atMs;
  });
  registry.readGauge(
    {
      name: 'podloop_node_status_last_synced_time_seconds',
      help: 'When the API server last had the Node as it is, in seconds since the epoch.',
    },
    () => lastAtMs && lastAtMs / 1_000,
  );
}

function addLease(registry: MetricsRegistry): void {
  const tries = registry.counter({
    name: 'podloop_node_lease_tries_total',
    help: 'Tries to renew the lease of the node, by what came of them: renewed, created, conflict, failed, waiting.',
    labels: ['outcome'],
  });
  const duration = registry.histogram(
    {
      name: 'podloop_node_lease_renewal_duration_seconds',
      help: 'How long requests took that renewed the lease of the node, or made it.',
    },
    DEFAULT_BUCKETS,
  );
  let lastAtMs: number | undefined;
  registry.listen(nodeLeaseTried, ({ outcome, durationMs, atMs }) => {
    tries.inc({ outcome });
    if (outcome !== 'renewed' && outcome !== 'created') return;
    duration.observe(durationMs / 1_000);
    lastAtMs = atMs;
  });
  registry.readGauge(
    {
      name: 'podloop_node_lease_last_renewed_time_seconds',
      help: 'When the lease of the node was last renewed, in seconds since the epoch: `time() -` it should stay below a quarter of its duration.',
    },
    () => lastAtMs && lastAtMs / 1_000,
  );
}
