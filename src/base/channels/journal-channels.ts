import { definePublishingChannel } from './publishing-channel.js';

/** One write of history records to the disk, successful or not. */
export interface JournalWrite {
  /** Records that were written. */
  readonly records: number;
  /** Their bytes. */
  readonly bytes: number;
  readonly durationMs: number;
  /** Records that are still waiting. */
  readonly queued: number;
  /** Why the records could not be written and stay in memory; undefined if they were written. */
  readonly error: string | undefined;
}

/** See {@link JournalWrite}. */
export const journalWritten = definePublishingChannel<JournalWrite>('podloop:journal:written');
