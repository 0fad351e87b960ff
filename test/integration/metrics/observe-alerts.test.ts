/**
 * Every alert about the findings of an observer over recorded series: silent on a healthy node, firing when something is
 * wrong, and with words that name pod and container.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { readText } from '../../source-tree.js';
import { type ExposedSample } from './exposition.js';
import { AlertState, examplePath, readAlerts } from './promql/alert-rules.js';
import { selectorsOf } from './promql/expression.js';
import { ScrapedSeries } from './promql/scraped-series.js';

const FILE = 'observe-alerts.yaml';
const MINUTE = 60_000;
const END_MS = Date.parse('2026-01-02T03:00:00Z');

const finding = (severity: string, pod: string): ExposedSample => ({
  name: 'podloop_finding',
  labels: { code: 'PodHung', severity, namespace: 'default', pod, container: 'main' },
  value: 1,
});
const plain = (name: string, value: number): ExposedSample => ({ name, labels: {}, value });

/** What is scraped while that is wrong, by minute; undefined for a scrape that fails. */
const CASES: Readonly<Record<string, (minute: number) => readonly ExposedSample[] | undefined>> = {
  NodeFindingCritical: () => [finding('critical', 'web')],
  NodeFindingWarning: () => [finding('warning', 'web')],
  NodeFindingsUnnamed: () => [
    { name: 'podloop_findings', labels: { code: 'PodHung', severity: 'warning' }, value: 21 },
  ],
  ObserverDown: () => undefined,
  ObserverDoesNotExamine: () => [plain('podloop_last_examination_timestamp_seconds', END_MS / 1_000 - 7_200)],
  ObserverLosesHistory: (minute) => [plain('podloop_journal_records_dropped_total', minute * 10)],
};

/** A node on which all is well. */
const WELL = (minute: number): readonly ExposedSample[] => [
  plain('podloop_last_examination_timestamp_seconds', END_MS / 1_000 - (60 - minute) * 60),
  plain('podloop_journal_records_dropped_total', 0),
];

/** Whether an alert fires in an hour of scrapes, one a minute. */
function fires(alert: string, scrape: (minute: number) => readonly ExposedSample[] | undefined): boolean {
  const rule = readAlerts(FILE).find((each) => each.alert === alert)!;
  const series = new ScrapedSeries({ job: 'podloop-observe', instance: 'node-1' });
  const state = new AlertState(rule, series);
  let isFiring = false;
  for (let minute = 0; minute <= 60; minute++) {
    const atMs = END_MS - (60 - minute) * MINUTE;
    const samples = scrape(minute);
    series.add(atMs, samples === undefined ? undefined : { samples, types: new Map() });
    isFiring = state.isFiring(atMs);
  }
  return isFiring;
}

describe('an alert about what an observer finds', () => {
  const alerts = readAlerts(FILE);

  it.each(alerts.map(({ alert }) => alert))(
    '%s fires when that is wrong, and not on a healthy node',
    (alert) => {
      expect(fires(alert, WELL)).toBe(false);
      expect(fires(alert, CASES[alert]!)).toBe(true);
    },
  );

  it.each(alerts.map(({ alert, expr, expression }) => [alert, expr, expression] as const))(
    '%s asks for metrics that the documentation has',
    (_alert, _expr, expression) => {
      const metrics = readText('docs/reference/metrics.md');
      for (const { name } of selectorsOf(expression))
        if (name !== 'up') expect(metrics).toContain(`\`${name}\``);
    },
  );

  it('names the pod and the container of a finding, where it has one', () => {
    for (const { alert, annotations } of alerts.filter(({ expr }) => expr.startsWith('podloop_finding{'))) {
      expect([alert, annotations['summary']]).toEqual([
        alert,
        expect.stringContaining('pod {{ $labels.namespace }}/{{ $labels.pod }}'),
      ]);
      expect(annotations['summary']).toContain('container {{ $labels.container }}');
    }
  });

  const { stdout, error } = spawnSync('promtool', ['check', 'rules', examplePath(`prometheus/${FILE}`)], {
    encoding: 'utf8',
  });
  it.skipIf(error !== undefined)('is one that Prometheus takes: promtool says so', () => {
    expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
  });
});
