import { type MetricsRegistry } from '#node/telemetry';
import { type FindingChanges, type FindingSpell } from './finding-tracker.js';
import { type FindingWatchStats } from './finding-watch.js';

/** The findings of an observer, as far as they are reported. */
export interface MeasuredFindings {
  readonly active: readonly FindingSpell[];
  readonly stats: FindingWatchStats;
}

/** Findings with names of pods, of which a node may have many. */
const MAX_NAMED = 20;

/**
 * Reports what is wrong with the node. Counts are by code, and the number of codes is fixed. The worst findings have series
 * of their own with pod and container, so that an alert can name them; all of them are in the history.
 *
 * Returns a function that counts what an examination has changed.
 */
export function addFindingMetrics(
  registry: MetricsRegistry,
  read: () => MeasuredFindings,
): (changes: FindingChanges) => void {
  const labels = ['code', 'severity'] as const;
  const began = registry.counter({
    ...{ name: 'podloop_findings_total', labels },
    help: 'Findings about the node that began, by code and severity.',
  });
  registry.readGauge(
    { ...{ name: 'podloop_findings', labels }, help: 'Findings about the node that are not over.' },
    () => {
      const counts = new Map<string, { labels: { code: string; severity: string }; value: number }>();
      for (const { finding } of read().active) {
        const { code, severity } = finding;
        const known = counts.get(`${code} ${severity}`);
        counts.set(`${code} ${severity}`, { labels: { code, severity }, value: (known?.value ?? 0) + 1 });
      }
      return counts.values();
    },
  );
  registry.readGauge(
    {
      ...{ name: 'podloop_finding', labels: ['code', 'severity', 'namespace', 'pod', 'container'] },
      help: 'A finding that is not over, with the pod that it is about: 1. The worst 20 are named.',
    },
    () => nameWorst(read().active),
  );
  registry.readCounter(
    { name: 'podloop_examinations_total', help: 'Examinations of the node by the rules of the doctor.' },
    () => read().stats.examinations,
  );
  registry.readGauge(
    {
      name: 'podloop_last_examination_timestamp_seconds',
      help: 'When the last examination ended, in seconds since the epoch.',
    },
    () => {
      const { lastExaminedAtMs } = read().stats;
      return lastExaminedAtMs === undefined ? undefined : lastExaminedAtMs / 1_000;
    },
  );
  return (changes) => {
    for (const { finding } of changes.began) began.inc({ code: finding.code, severity: finding.severity });
  };
}

interface NamedFinding {
  readonly labels: Readonly<Record<'code' | 'severity' | 'namespace' | 'pod' | 'container', string>>;
  readonly value: 1;
}

/** A series for each of the worst findings, the critical ones first. */
function nameWorst(active: readonly FindingSpell[]): Iterable<NamedFinding> {
  const isCritical = ({ finding }: FindingSpell): boolean => finding.severity === 'critical';
  const sorted = [...active.filter(isCritical), ...active.filter((spell) => !isCritical(spell))];
  const series = new Map<string, NamedFinding>();
  for (const { finding } of sorted) {
    const { code, severity, pod, container = '' } = finding;
    const labels = { code, severity, namespace: pod?.namespace ?? '', pod: pod?.name ?? '', container };
    // Two calls about the same container are one series.
    if (series.size < MAX_NAMED) series.set(JSON.stringify(labels), { labels, value: 1 });
  }
  return series.values();
}
