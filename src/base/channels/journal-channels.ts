import { definePublishingChannel } from './publishing-channel.js';

/** One write of records to the history on the disk, well or not. */
export interface JournalWrite {
  /** Records that are on the disk now. */
  readonly records: number;
  /** Their bytes. */
  readonly bytes: number;
  readonly durationMs: number;
  /** Records that wait behind them. */
  readonly queued: number;
  /** Why they could not be written and are kept in memory; undefined when they were. */
  readonly error: string | undefined;
}

/** See {@link JournalWrite}. */
export const journalWritten = definePublishingChannel<JournalWrite>('podloop:journal:written');
