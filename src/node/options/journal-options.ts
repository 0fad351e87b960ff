import { type OptionsTable } from './options-table.js';

/** What an agent is told of the history that it keeps. */
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
    doc: 'How much room the history of the node may take, which podloop events shows; the oldest of it goes first',
  },
  journalMaxAgeMs: {
    type: 'duration',
    default: 7 * 24 * 3_600_000,
    flag: '--journal-max-age',
    doc: 'How long the history of the node is kept',
  },
};
