import { type MetricsRegistry } from '#node/telemetry';
import { type FindingChanges, type FindingSpell } from './finding-tracker.js';
import { type FindingWatchStats } from './finding-watch.js';

/** The findings of an observer, as far as they are reported. */
export interface MeasuredFindings {
  readonly active: readonly FindingSpell[];
  readonly stats: FindingWatchStats;
}

/**
 * Reports what is wrong with the node. Series are by code alone, and the number of codes is fixed; the pods are in the history.
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
