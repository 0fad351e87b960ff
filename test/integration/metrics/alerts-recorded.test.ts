/**
 * Every alert of examples/prometheus over recorded series: silent on a healthy node, firing once it is bad for long
 * enough, and silent again afterwards.
 *
 * @module
 */
import { describe, expect, it } from 'vitest';
import { type ExposedSample } from './exposition.js';
import { chaptersOf, namesInTables } from './kubelet-agent-metrics.js';
import { AlertState, readAlerts, readRecordingRules } from './promql/alert-rules.js';
import { selectorsOf } from './promql/expression.js';
import { ScrapedSeries } from './promql/scraped-series.js';

/** A sample of one scrape: a value while all is well and another while it is not; a counter grows by it each time. */
interface Told {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly kind?: 'gauge' | 'counter';
  readonly good: number;
  readonly bad: number;
}

/** What the node tells when the named thing is wrong with it; `down`: nothing at all. */
const CASES: Readonly<Record<string, readonly Told[] | 'down'>> = {
  PodloopDown: 'down',
  PodloopRestarts: [gauge('process_start_time_seconds', 0, NaN)],
  PodloopEventLoopLate: [gauge('podloop_event_loop_delay_max_seconds', 0.02, 1.5)],
  PodloopMemoryHigh: [gauge('process_resident_memory_bytes', 100e6, 600e6)],
  PodloopFilesNearlyUsedUp: [gauge('process_open_fds', 50, 900), gauge('process_max_fds', 1024, 1024)],
  PodloopCertificateEnds: [
    gauge('podloop_certificate_end_time_seconds', 2e9, 1.8e9, { certificate: 'server' }),
  ],
  PodloopCertificateNotRenewed: [
    gauge('podloop_certificate_renewal_time_seconds', 2e9, 1.7e9, { certificate: 'client' }),
  ],
  PodloopMetricsIncomplete: [counter('podloop_metrics_read_errors_total', 0, 1, { metric: 'a' })],
  PodloopUsageUnreadable: [gauge('scrape_error', 0, 1)],
  PlegNotHealthy: [gauge('podloop_pleg_healthy', 1, 0)],
  PlegSoonNotHealthy: [
    gauge('kubelet_pleg_last_seen_seconds', NaN, 1),
    gauge('podloop_pleg_threshold_seconds', 180, 180),
    gauge('podloop_pleg_relist_period_seconds', 1, 1),
  ],
  PlegRelistHangs: [gauge('podloop_pleg_relist_in_progress_seconds', 0.01, 31)],
  PlegRelistSlow: [
    counter('kubelet_pleg_relist_duration_seconds_bucket', 15, 0, { le: '0.1' }),
    counter('kubelet_pleg_relist_duration_seconds_bucket', 15, 0, { le: '5' }),
    counter('kubelet_pleg_relist_duration_seconds_bucket', 15, 2, { le: '10' }),
    counter('kubelet_pleg_relist_duration_seconds_bucket', 15, 2, { le: '+Inf' }),
  ],
  PlegListsFail: [
    counter('podloop_pleg_relists_total', 0, 1, { scope: 'all', result: 'failure', trigger: 'period' }),
  ],
  PlegPodStuck: [gauge('podloop_pleg_stuck_pods', 0, 1)],
  PlegInspectionsFail: [counter('podloop_pleg_inspection_errors_total', 0, 2)],
  PlegEventsQueue: [gauge('podloop_pleg_events_queued', 3, 1000)],
  PlegEventsFolded: [counter('podloop_pleg_events_folded_total', 0, 5)],
  PlegEventStreamDown: [
    gauge('podloop_pleg_stream_state', 0, 1, { state: 'waiting' }),
    gauge('podloop_pleg_stream_state', 1, 0, { state: 'up' }),
  ],
  PlegChangesMissed: [counter('podloop_pleg_changes_missed_total', 0, 2)],
  RuntimeCallHangs: [
    gauge('podloop_runtime_operations_oldest_in_flight_seconds', 0.1, 61, {
      operation_type: 'container_status',
    }),
    gauge('podloop_runtime_operations_oldest_in_flight_seconds', 9e5, 9e5, {
      operation_type: 'get_container_events',
    }),
  ],
  RuntimeCallsFail: [
    counter('kubelet_runtime_operations_total', 10, 10, { operation_type: 'run_podsandbox' }),
    counter('kubelet_runtime_operations_errors_total', 0, 3, { operation_type: 'run_podsandbox' }),
  ],
  RuntimeCallsTimeOut: [
    counter('podloop_runtime_operations_timeouts_total', 0, 1, { operation_type: 'status' }),
  ],
  RuntimeConnectionDown: [gauge('podloop_cri_connection_state', 1, 0, { state: 'ready' })],
  PodsNotSynced: [gauge('podloop_sync_loop_errors', 0, 1)],
  PodsAwaitRuntime: [gauge('podloop_pod_workers_awaiting_view', 1, 9)],
  PodWorkFails: [counter('podloop_pod_worker_errors_total', 0, 4, { operation_type: 'sync' })],
  ContainersDoNotStart: [
    counter('kubelet_started_containers_errors_total', 0, 1, {
      container_type: 'container',
      code: 'ErrImagePull',
    }),
  ],
  SandboxesFail: [counter('kubelet_run_podsandbox_errors_total', 0, 1, { runtime_handler: '' })],
  PodsStartSlowly: [
    counter('kubelet_pod_start_sli_duration_seconds_bucket', 3, 0, { le: '2' }),
    counter('kubelet_pod_start_sli_duration_seconds_bucket', 3, 0, { le: '60' }),
    counter('kubelet_pod_start_sli_duration_seconds_bucket', 3, 1, { le: '120' }),
    counter('kubelet_pod_start_sli_duration_seconds_bucket', 3, 1, { le: '+Inf' }),
  ],
  ManifestsRefused: [gauge('podloop_config_problems', 0, 2, { source: 'file' })],
  ProbesLate: [gauge('podloop_probes_waiting', 0, 30)],
  LivenessFails: [
    counter('prober_probe_total', 0, 1, {
      ...{
        probe_type: 'Liveness',
        result: 'failed',
        container: 'main',
        pod: 'web',
        namespace: 'default',
        pod_uid: 'u',
      },
    }),
  ],
  VolumesLeft: [gauge('kubelet_orphan_pod_cleaned_volumes_errors', 0, 1)],
  RuntimeConnectionFlaps: [counter('podloop_cri_connections_total', 0, 1)],
};

const BEGAN_MS = 1_800_000_000_000;
const STEP_MS = 15_000;
const GOOD_STEPS = 80;
const BAD_STEPS = 120;
/** Longer than any range of an alert, so that none still sees what was bad. */
const AFTER_STEPS = 260;

function gauge(name: string, good: number, bad: number, labels: Told['labels'] = {}): Told {
  return { kind: 'gauge', name, labels, good, bad };
}

function counter(name: string, good: number, bad: number, labels: Told['labels'] = {}): Told {
  return { kind: 'counter', name, labels, good, bad };
}

/** One scrape: NaN stands for the present time in whole minutes, as of something that just began. */
function scrape(
  told: readonly Told[],
  totals: Map<Told, number>,
  isBad: boolean,
  atMs: number,
): ExposedSample[] {
  return told.map((each) => {
    const { name, labels = {}, kind } = each;
    const value = isBad ? each.bad : each.good;
    if (kind === 'gauge')
      return { name, labels, value: Number.isNaN(value) ? Math.floor(atMs / 60_000) * 60 : value };
    totals.set(each, (totals.get(each) ?? 100) + value);
    return { name, labels, value: totals.get(each)! };
  });
}

describe('an alert over recorded series', () => {
  const rules = readAlerts();

  it('has a case here, each of them', () => {
    expect(Object.keys(CASES).sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s fires when it should, and clears',
    (alert, rule) => {
      const told = CASES[alert] ?? [];
      const [job = 'podloop'] = selectorsOf(rule.expression).flatMap(({ matchers }) =>
        matchers.flatMap(({ label, value }) => (label === 'job' ? [value] : [])),
      );
      const series = new ScrapedSeries({ job, instance: 'test' });
      const state = new AlertState(rule, series);
      const totals = new Map<Told, number>();
      const fired = { before: 0, during: 0, atEnd: 0 };
      let firstStep: number | undefined;
      for (let step = 0; step < GOOD_STEPS + BAD_STEPS + AFTER_STEPS; step++) {
        const atMs = BEGAN_MS + step * STEP_MS;
        const isBad = step >= GOOD_STEPS && step < GOOD_STEPS + BAD_STEPS;
        const samples = told === 'down' ? [] : scrape(told, totals, isBad, atMs);
        series.add(atMs, told === 'down' && isBad ? undefined : { samples, types: new Map() });
        if (!state.isFiring(atMs)) continue;
        if (step < GOOD_STEPS) fired.before++;
        else if (isBad) fired.during++;
        if (isBad) firstStep ??= step - GOOD_STEPS;
        if (step === GOOD_STEPS + BAD_STEPS + AFTER_STEPS - 1) fired.atEnd++;
      }
      expect(fired).toMatchObject({ before: 0, atEnd: 0 });
      expect(fired.during).toBeGreaterThan(0);
      // Not before it has lasted as long as the rule says.
      expect(firstStep! * STEP_MS).toBeGreaterThanOrEqual(rule.forMs);
    },
  );

  it('says what is wrong and how bad it is, each of them', () => {
    for (const { alert, labels, annotations } of rules) {
      expect([alert, labels['severity']]).toEqual([
        alert,
        expect.stringMatching(/^(critical|warning|info)$/),
      ]);
      const names = Object.keys(annotations).sort();
      expect([alert, names]).toEqual([alert, ['description', 'runbook_url', 'summary']]);
    }
  });
});

/** What a healthy node tells, at so many seconds, that looks like a sick one. */
const HEALTHY: readonly (readonly [alert: string, what: string, at: (seconds: number) => ExposedSample[]])[] =
  [
    [
      'PlegSoonNotHealthy',
      'before the first relist',
      () => [
        { name: 'kubelet_pleg_last_seen_seconds', labels: {}, value: 0 },
        { name: 'podloop_pleg_threshold_seconds', labels: {}, value: 180 },
        { name: 'podloop_pleg_relist_period_seconds', labels: {}, value: 1 },
      ],
    ],
    [
      'PlegSoonNotHealthy',
      'that trusts events, and lists all pods every five minutes',
      (seconds) => [
        {
          name: 'kubelet_pleg_last_seen_seconds',
          labels: {},
          value: BEGAN_MS / 1_000 + Math.floor(seconds / 330) * 330,
        },
        { name: 'podloop_pleg_threshold_seconds', labels: {}, value: 600 },
        { name: 'podloop_pleg_relist_period_seconds', labels: {}, value: 300 },
      ],
    ],
    [
      'RuntimeCallsTimeOut',
      'whose containers have slow commands as probes',
      (seconds) => [
        {
          name: 'podloop_runtime_operations_timeouts_total',
          labels: { operation_type: 'exec_sync' },
          value: seconds,
        },
      ],
    ],
  ];

describe('an alert over a healthy node', () => {
  it.each(HEALTHY)('%s is silent on one %s', (alert, _what, at) => {
    const series = new ScrapedSeries({ job: 'podloop', instance: 'test' });
    const state = new AlertState(
      readAlerts().find((rule) => rule.alert === alert)!,
      series,
    );
    for (let seconds = 0; seconds < 3_600; seconds += STEP_MS / 1_000) {
      const atMs = BEGAN_MS + seconds * 1_000;
      series.add(atMs, { samples: at(seconds), types: new Map() });
      expect([seconds, state.isFiring(atMs)]).toEqual([seconds, false]);
    }
  });
});

describe('the recording rules', () => {
  const recorded = readRecordingRules();
  const older = namesInTables(chaptersOf('docs/reference/metrics.md').get('Names in older articles')!);

  it('make every name that the documentation says older articles use', () => {
    expect(older.length).toBeGreaterThan(10);
    expect(older.filter((name) => !recorded.some(({ record }) => record === name))).toEqual([]);
  });

  it('make of what was a summary its quantiles, its sum and its count', () => {
    const summaries = older.filter((name) => name.endsWith('_microseconds'));
    expect(summaries).toHaveLength(7);
    for (const name of summaries) {
      const quantiles = recorded.filter(({ record }) => record === name);
      expect([name, quantiles.map(({ labels }) => labels['quantile'])]).toEqual([
        name,
        ['0.5', '0.9', '0.99'],
      ]);
      for (const { expr, labels } of quantiles)
        expect(expr).toContain(`histogram_quantile(${labels['quantile']!},`);
      for (const part of ['_sum', '_count'])
        expect(recorded.filter(({ record }) => record === `${name}${part}`)).toHaveLength(1);
    }
  });
});
