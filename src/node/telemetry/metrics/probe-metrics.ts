import { probeEnded, type ProbeEnd } from '#base/channels/probe-channels.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The state of a node's probes, as far as it is reported. */
export interface ProbeStats {
  readonly workers: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly voided: number;
  readonly unanswered: number;
  readonly heldBack: number;
}

const COUNTED = ['successful', 'failed', 'unknown'] as const;
const RESULTS: Readonly<Record<ProbeEnd['outcome'], (typeof COUNTED)[number] | undefined>> = {
  success: 'successful',
  warning: 'successful',
  failure: 'failed',
  error: 'unknown',
  // Repeated, and counts neither way.
  void: undefined,
};
const TYPES = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;

/** A container of a pod under one probe: its series disappear with the pod. */
type ProbedContainer = Readonly<Record<'pod' | 'namespace' | 'container' | 'probe_type', string>>;

/**
 * Counts and times probes by container, for the page /metrics/probes.
 *
 * The series of a pod disappear once `isKnown` is false, so that pods that come and go leave nothing behind.
 */
export function addProbeMetrics(registry: MetricsRegistry, isKnown: (podUid: string) => boolean): void {
  const total = registry.counter({
    name: 'prober_probe_total',
    help: 'Probes that were run, by container, kind and result.',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  });
  const duration = registry.seriesHistogram(
    {
      name: 'prober_probe_duration_seconds',
      help: 'How long probes took, by container and kind.',
      labels: ['probe_type', 'container', 'pod', 'namespace'],
    },
    DEFAULT_BUCKETS,
  );
  /** By uid, the counted containers of the pod. */
  const probed = new Map<string, Map<string, ProbedContainer>>();
  /**
   * How many pods share a series of times: a pod may have the name of an earlier one, and times have no uid.
   */
  const owners = new Map<string, number>();
  const forget = (uid: string, key: string, labels: ProbedContainer): void => {
    for (const result of COUNTED) total.remove({ ...labels, result, pod_uid: uid });
    const left = (owners.get(key) ?? 1) - 1;
    if (left > 0) {
      owners.set(key, left);
      return;
    }
    owners.delete(key);
    duration.remove(labels);
  };
  const sweep = (): void => {
    for (const [uid, ofPod] of probed) {
      if (isKnown(uid)) continue;
      probed.delete(uid);
      for (const [key, labels] of ofPod) forget(uid, key, labels);
    }
  };
  registry.listen(probeEnded, (end) => {
    const result = RESULTS[end.outcome];
    if (result === undefined || !isKnown(end.podUid)) return;
    const labels: ProbedContainer = {
      ...{ pod: end.podName, namespace: end.namespace },
      ...{ container: end.containerName, probe_type: TYPES[end.type] },
    };
    // Also without scrapes, series of pods that are gone must not pile up.
    if (!probed.has(end.podUid)) sweep();
    const ofPod = probed.get(end.podUid) ?? new Map<string, ProbedContainer>();
    probed.set(end.podUid, ofPod);
    const key = Object.values(labels).join(' ');
    if (!ofPod.has(key)) owners.set(key, (owners.get(key) ?? 0) + 1);
    ofPod.set(key, labels);
    total.inc({ ...labels, result, pod_uid: end.podUid });
    duration.observe(labels, end.durationMs / 1_000);
  });
  registry.beforeScrape(async () => {
    sweep();
    return Promise.resolve();
  });
}

/** Reports the state of all probes together, for the page /metrics. */
export function addProbeStats(registry: MetricsRegistry, stats: () => ProbeStats): void {
  const read = registry.oncePerScrape(stats);
  const gauges = [
    ['podloop_probe_workers', 'Probes that are run again and again.', 'workers'],
    ['podloop_probes_in_flight', 'Probes under way.', 'inFlight'],
    ['podloop_probes_waiting', 'Probes that are due and wait for their turn.', 'waiting'],
  ] as const;
  for (const [name, help, field] of gauges) registry.readGauge({ name, help }, () => read()[field]);
  registry.readCounter(
    {
      name: 'podloop_probes_voided_total',
      help: 'Probes that did not count, and were repeated, because the agent itself stood still meanwhile.',
    },
    () => read().voided,
  );
  registry.readCounter(
    {
      name: 'podloop_probe_commands_unanswered_total',
      help: 'Commands of probes that the runtime did not answer in time, while it answered other calls. Each may have left processes in its container.',
    },
    () => read().unanswered,
  );
  registry.readCounter(
    {
      name: 'podloop_probe_commands_held_back_total',
      help: 'Commands of probes that were not started, as too many earlier ones of the same probe were unanswered.',
    },
    () => read().heldBack,
  );
}
