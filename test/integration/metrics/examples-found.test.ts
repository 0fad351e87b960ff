/**
 * Every expression of examples/prometheus and examples/grafana is held against what a running agent tells.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { CRI_METHODS } from '../../../src/watch/cri/methods.js';
import { readText } from '../../source-tree.js';
import { runPodloop } from '../podloop-process.js';
import { AlertsHarness } from './alerts-harness.js';
import { labelsInTables, readKubeletMetrics } from './kubelet-agent-metrics.js';
import { examplePath, readAlerts, readRecordingRules } from './promql/alert-rules.js';
import { type LabelMatcher, parseExpression, type Selector, selectorsOf } from './promql/expression.js';
import { ScrapedSeries } from './promql/scraped-series.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: unknown;
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly datasource?: unknown }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

const DASHBOARD = JSON.parse(readFileSync(examplePath('grafana/podloop.json'), 'utf8')) as Dashboard;

/** An expression of the dashboard as Grafana sends it. */
function filledIn(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$job-probes', 'podloop-probes')
    .replaceAll('$job-resource', 'podloop-resource')
    .replaceAll('$job', 'podloop')
    .replaceAll('$instance', '.*');
}

const EXPRESSIONS: readonly (readonly [where: string, expr: string])[] = [
  ...readAlerts().map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
  ...readRecordingRules().map(({ record, expr }, at) => [`recording rule ${at} ${record}`, expr] as const),
  ...DASHBOARD.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }, at) => [`panel ${title}, ${at}`, filledIn(expr)] as const),
  ),
];

/** What no page tells: Prometheus makes it. */
const OF_PROMETHEUS = ['up'];
/**
 * What has counted nothing on this node, whose runtime starts no container: their names are found, their labels are those
 * that the documentation has, and the values asked for are some that there are.
 */
const MAY_NOT_HAVE_COUNTED = [
  // There is no port with TLS, and no cluster.
  'podloop_certificate_end_time_seconds',
  'podloop_certificate_renewal_time_seconds',
  'podloop_metrics_read_errors_total',
  'podloop_runtime_operations_timeouts_total',
  'podloop_runtime_operations_abandoned_total',
  'kubelet_started_containers_errors_total',
  'kubelet_started_containers_total',
  'prober_probe_total',
  'prober_probe_duration_seconds_bucket',
];
/** What the runtime of this node does not measure; usage-pages.test.ts has them of one that does. */
const MEASURED_ELSEWHERE = ['pod_cpu_usage_seconds_total', 'pod_memory_working_set_bytes'];
/** Labels that Prometheus gives a series, or that are of its parts. */
const OF_SCRAPES = ['job', 'instance', 'le'];

/** A pod that the runtime of this node cannot make a sandbox for. */
const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'wanted' } },
  spec: { containers: [{ name: 'main', image: 'no.such/image' }] },
};

describe('what examples ask for', () => {
  let lab: AlertsHarness;
  const otherPages = [
    ['/metrics/resource', new ScrapedSeries({ job: 'podloop-resource', instance: 'test' })],
    ['/metrics/probes', new ScrapedSeries({ job: 'podloop-probes', instance: 'test' })],
  ] as const;

  beforeAll(async () => {
    lab = await AlertsHarness.start({ pods: 3, flags: ['--mode', 'auto'] });
    const [pod] = await lab.node.control.pods();
    const told = (name: string) => lab.series.find({ name, matchers: [] }).at(-1)?.points.at(-1)?.value ?? 0;
    await vi.waitFor(() => expect(told('podloop_pleg_pods')).toBe(3), 30_000);
    // What fails, and what is done for pods, has labels once there was some of it.
    await writeFile(join(lab.node.folder, 'manifests/pod.json'), JSON.stringify(POD));
    await vi.waitFor(() => expect(told('podloop_pod_worker_errors_total')).toBeGreaterThan(0), 30_000);
    lab.node.replaceRules(
      'rules: [{ name: r, match: { methods: [ListContainers] }, fault: { type: error, code: INTERNAL } }]',
    );
    const failures: Selector = parseExpression(
      'podloop_pleg_relists_total{scope="all", result="failure"}',
    ) as Selector;
    await vi.waitFor(() => expect(lab.series.find(failures)).not.toEqual([]), 30_000);
    // Events and relists of one pod are counted once there have been any, calls in flight are there while they are.
    const [other] = (await lab.node.control.pods()).slice(1);
    lab.node.replaceRules(
      `rules: [{ name: r, match: { methods: [ContainerStatus], pods: [${other!.uid}] }, fault: { type: hang } }]`,
    );
    await lab.node.control.kill({ podUids: [pod!.uid, other!.uid] });
    await vi.waitFor(() => expect(told('podloop_pleg_stuck_pods')).toBe(1), 30_000);
    await vi.waitFor(() => expect(told('podloop_pleg_events_total')).toBeGreaterThan(0), 30_000);
    await vi.waitFor(
      () => expect(told('kubelet_pleg_pod_relist_duration_seconds_count')).toBeGreaterThan(0),
      30_000,
    );
    for (const [path, series] of otherPages) await lab.addPage(path, series);
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  const pages = (): ScrapedSeries[] => [lab.series, ...otherPages.map(([, series]) => series)];

  function isFound(selector: Selector): boolean {
    if (pages().some((series) => series.find(selector).length > 0)) return true;
    if (MEASURED_ELSEWHERE.includes(selector.name)) return EXPLAINED.has(selector.name);
    const family = selector.name.replace(/_bucket$/, '');
    return MAY_NOT_HAVE_COUNTED.includes(selector.name) && lab.families.has(family);
  }

  /** What a label is known to have been, or may be, by its name. */
  function valuesOf(label: string): readonly string[] {
    const seen = pages().flatMap((series) => series.valuesOf(label));
    const kubelets = readKubeletMetrics().flatMap(({ labels }) => labels.get(label) ?? []);
    const operations =
      label === 'operation_type' ? Object.values(CRI_METHODS).map(({ operation }) => operation) : [];
    return [...seen, ...kubelets, ...operations, ...(label === 'result' ? ['failed'] : [])];
  }

  /** Alternatives of a matcher that no series could ever have. */
  function strangeValues({ label, op, value }: LabelMatcher): string[] {
    const alternatives = op === '=' || op === '!=' ? [value] : value.split('|');
    const known = valuesOf(label);
    return alternatives.filter(
      (each) =>
        !known.some((one) => (op.endsWith('~') ? new RegExp(`^(?:${each})$`).test(one) : each === one)),
    );
  }

  const EXPLAINED = labelsInTables(readText('docs/reference/metrics.md'));

  it.each(EXPRESSIONS)('%s: each of its series is there', (_where, expr) => {
    const selectors = selectorsOf(parseExpression(expr)).filter(({ name }) => !OF_PROMETHEUS.includes(name));
    for (const selector of selectors) {
      expect([selector, isFound(selector)]).toEqual([selector, true]);
      const labels = EXPLAINED.get(selector.name.replace(/_(bucket|sum|count)$/, '')) ??
        EXPLAINED.get(selector.name) ?? ['not explained'];
      for (const matcher of selector.matchers.filter(({ label }) => !OF_SCRAPES.includes(label))) {
        expect(labels, selector.name).toContain(matcher.label);
        expect([selector.name, matcher, strangeValues(matcher)]).toEqual([selector.name, matcher, []]);
      }
    }
  });

  it('is explained on each panel of the dashboard', () => {
    const bare = DASHBOARD.panels.filter(
      ({ type, description = '' }) => type !== 'row' && description === '',
    );
    expect(bare.map(({ title }) => title)).toEqual([]);
  });

  it('is the variables of the dashboard, too', () => {
    const names = DASHBOARD.templating.list.flatMap(
      ({ query }) => /label_values\((\w+)/.exec(query)?.[1] ?? [],
    );
    expect(names).toHaveLength(2);
    for (const name of names) expect(lab.series.find({ name, matchers: [] })).not.toEqual([]);
  });

  it('is scraped where the jobs of prometheus.yaml look', () => {
    const { scrape_configs: jobs } = parse(
      readFileSync(examplePath('prometheus/prometheus.yaml'), 'utf8'),
    ) as {
      scrape_configs: { job_name: string; metrics_path?: string }[];
    };
    const wanted = readAlerts().flatMap(({ expression }) =>
      selectorsOf(expression).flatMap(({ matchers }) => matchers.filter(({ label }) => label === 'job')),
    );
    const names = jobs.map(({ job_name: name }) => name);
    expect(names).toEqual(expect.arrayContaining([...new Set(wanted.map(({ value }) => value))]));
    expect(jobs.map(({ metrics_path: path = '/metrics' }) => path)).toEqual([
      ...['/metrics', '/metrics/resource', '/metrics/cadvisor', '/metrics/probes'],
    ]);
  });

  it('of observers is scraped under the name that their alerts look for, where they listen', async () => {
    const { scrape_configs: jobs } = parse(
      readFileSync(examplePath('prometheus/observe-job.yaml'), 'utf8'),
    ) as { scrape_configs: object[] };
    const { stdout: help } = await runPodloop(['observe', '--help']);
    const [, address] = /--metrics-bind-address.*?\(default:\s+"?([\d.:]+)/s.exec(help)!;
    expect(jobs).toEqual([{ job_name: 'podloop-observe', static_configs: [{ targets: [address] }] }]);
    const wanted = readFileSync(examplePath('prometheus/observe-alerts.yaml'), 'utf8').match(/job="[^"]+"/g);
    expect(new Set(wanted)).toEqual(new Set(['job="podloop-observe"']));
  });

  it('is scraped under the labels that dashboards of kubelets look for, too, each page once', () => {
    const { scrape_configs: jobs } = parse(
      readFileSync(examplePath('prometheus/kubelet-jobs.yaml'), 'utf8'),
    ) as {
      scrape_configs: { job_name: string; metrics_path?: string; relabel_configs: object[] }[];
    };
    expect(new Set(jobs.map(({ job_name: name }) => name)).size).toBe(4);
    expect(jobs.map(({ metrics_path: path = '/metrics' }) => path)).toEqual([
      ...['/metrics', '/metrics/resource', '/metrics/cadvisor', '/metrics/probes'],
    ]);
    for (const { relabel_configs: rules } of jobs) {
      expect(rules).toEqual(
        expect.arrayContaining([
          { target_label: 'job', replacement: 'kubelet' },
          { source_labels: ['__metrics_path__'], target_label: 'metrics_path' },
        ]),
      );
    }
  });
});

/** Grafana's ids of the units that panels here need. */
const UNITS = ['none', 's', 'ops', 'Bps', 'bytes', 'percentunit'];

/** What an expression comes to, as far as the names in it say so. */
function unitOf(expr: string): string | undefined {
  const isRate = expr.includes('rate(');
  if (/histogram_quantile\(|_seconds_sum/.test(expr)) return 's';
  if (/process_cpu_seconds_total/.test(expr)) return 'percentunit';
  if (/_seconds\b/.test(expr) && !isRate) return 's';
  if (/_bytes(_total)?\b/.test(expr)) return isRate ? 'Bps' : 'bytes';
  return undefined;
}

describe('the dashboard', () => {
  const { panels } = DASHBOARD;

  it('asks the data source that is chosen, in each panel, and names the unit of what it shows', () => {
    const chosen = { type: 'prometheus', uid: '${datasource}' };
    expect(DASHBOARD.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
    );
    for (const { title, type, datasource, targets = [], fieldConfig } of panels) {
      if (type === 'row') continue;
      expect([title, datasource, targets.length > 0]).toEqual([title, chosen, true]);
      for (const target of targets) expect([title, target.datasource]).toEqual([title, chosen]);
      const unit = fieldConfig?.defaults?.unit;
      expect([title, UNITS]).toEqual([title, expect.arrayContaining([unit])]);
      for (const { expr } of targets) expect([title, unitOf(expr) ?? unit]).toEqual([title, unit]);
    }
  });

  it('shows every panel once, in its place', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = new Set<string>();
    for (const { title, gridPos } of panels) {
      expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true]);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, cells.has(`${x} ${y}`)]).toEqual([title, false]);
          cells.add(`${x} ${y}`);
        }
      }
    }
  });
});
