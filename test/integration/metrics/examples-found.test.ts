/**
 * Every expression of examples/prometheus and examples/grafana is held against what a running agent tells.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { AlertsLab } from './alerts-lab.js';
import { examplePath, readAlerts, readRecordingRules } from './promql/alert-rules.js';
import { parseExpression, type Selector, selectorsOf } from './promql/expression.js';
import { ScrapedSeries } from './promql/scraped-series.js';

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
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
 * Counters with labels that appear once they have counted, and have not on this node. Their names are found, and that
 * they have such labels is told by the test of the metrics.
 */
const MAY_NOT_HAVE_COUNTED = [
  'podloop_metrics_read_errors_total',
  'podloop_runtime_operations_timeouts_total',
  'podloop_runtime_operations_abandoned_total',
  'kubelet_runtime_operations_errors_total',
  'podloop_pleg_relists_total',
  'podloop_pod_worker_errors_total',
  'kubelet_started_containers_errors_total',
  'kubelet_started_containers_total',
  'kubelet_run_podsandbox_errors_total',
  'kubelet_pod_worker_duration_seconds_bucket',
  'prober_probe_total',
  'prober_probe_duration_seconds_bucket',
];

describe('what examples ask for', () => {
  let lab: AlertsLab;
  const otherPages = [
    ['/metrics/resource', new ScrapedSeries({ job: 'podloop-resource', instance: 'test' })],
    ['/metrics/probes', new ScrapedSeries({ job: 'podloop-probes', instance: 'test' })],
  ] as const;

  beforeAll(async () => {
    lab = await AlertsLab.start({ pods: 3, flags: ['--mode', 'auto'] });
    const [pod] = await lab.node.control.pods();
    const told = (name: string) => lab.series.find({ name, matchers: [] }).at(-1)?.points.at(-1)?.value ?? 0;
    await vi.waitFor(() => expect(told('podloop_pleg_pods')).toBe(3), 30_000);
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

  function isFound(selector: Selector): boolean {
    const pages = [lab.series, ...otherPages.map(([, series]) => series)];
    if (pages.some((series) => series.find(selector).length > 0)) return true;
    const family = selector.name.replace(/_bucket$/, '');
    return MAY_NOT_HAVE_COUNTED.includes(selector.name) && lab.families.has(family);
  }

  it.each(EXPRESSIONS)('%s: each of its series is there', (_where, expr) => {
    const selectors = selectorsOf(parseExpression(expr)).filter(({ name }) => !OF_PROMETHEUS.includes(name));
    for (const selector of selectors) expect([selector, isFound(selector)]).toEqual([selector, true]);
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
});

describe('the dashboard', () => {
  it('shows every panel once, in its place, with a unit and a data source', () => {
    const panels = DASHBOARD.panels as readonly (Panel & {
      readonly id: number;
      readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    })[];
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
