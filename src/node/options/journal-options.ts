import { type OptionsTable } from './options-table.js';

/** The options for the history of the node. */
export interface JournalOptions {
  readonly journalMaxSizeBytes: number;
  readonly journalMaxAgeMs: number;
}

/** The rows of {@link JournalOptions}. */
export const JOURNAL_OPTIONS: OptionsTable<JournalOptions> = {
  journalMaxSizeBytes: {
    type: 'size',
    default: 64 * 1024 * 1024,
    flag: '--journal-max-size',
    group: 'Logging and telemetry',
    doc: 'Maximum size of the node’s history, which "podloop events" shows; the oldest entries are removed first',
  },
  journalMaxAgeMs: {
    type: 'duration',
    default: 7 * 24 * 3_600_000,
    flag: '--journal-max-age',
    group: 'Logging and telemetry',
    doc: 'Maximum age of entries in the node’s history',
  },
};
