import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The state of the history on disk, as far as it is reported. */
export interface JournalStats {
  readonly queued: number;
  readonly written: number;
  readonly dropped: number;
  readonly writeErrors: number;
  readonly damaged: number;
  readonly bytes: number;
  /** Why nothing can be written now. */
  readonly trouble: string | undefined;
}

/** Reports the state of the history on disk. */
export function addJournalMetrics(registry: MetricsRegistry, stats: () => JournalStats): void {
  const read = registry.oncePerScrape(stats);
  const counters = [
    ['podloop_journal_records_written_total', 'Records of the history that were written.', 'written'],
    [
      'podloop_journal_records_dropped_total',
      'Records of the history that were given up because too many waited for the disk.',
      'dropped',
    ],
    ['podloop_journal_write_errors_total', 'Tries to write the history that failed.', 'writeErrors'],
    [
      'podloop_journal_records_damaged_total',
      'Records of the history that were gone or not what had been written, as somebody read them.',
      'damaged',
    ],
  ] as const;
  for (const [name, help, field] of counters) registry.readCounter({ name, help }, () => read()[field]);
  registry.readGauge(
    { name: 'podloop_journal_records_queued', help: 'Records of the history that wait for the disk.' },
    () => read().queued,
  );
  registry.readGauge(
    {
      name: 'podloop_journal_size_bytes',
      help: 'Disk space of the history when it was last measured.',
    },
    () => read().bytes,
  );
  registry.readGauge(
    { name: 'podloop_journal_failing', help: 'Whether the history cannot be written now: 1 or 0.' },
    () => (read().trouble === undefined ? 0 : 1),
  );
}
