import {
  historyFolder,
  type JournalEntry,
  JournalStoreError,
  OfflineJournalStore,
  readRecords,
} from '#history';
import { type HistoryFilter } from '#kube/node/history-filter.js';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { podNames } from './serve-history.js';

export { JOURNAL_KINDS, type JournalEntry } from '#history';

/** Which part of a history on disk to read. */
export interface DiskQuery {
  /** The root folder of the agent that has written it. */
  readonly rootDir: string;
  readonly filter: HistoryFilter;
  /** Continues after the record with this id. */
  readonly afterId?: string | undefined;
  readonly clock: Clock;
}

/**
 * Reads the history of an agent that is not running. Rejects with JOURNAL_UNUSABLE when there is none, or it
 * is in use.
 *
 * It may also reject later, as the history is not locked between two reads.
 */
export async function* readHistoryOnDisk(
  { rootDir, filter: { pod, ...filter }, afterId, clock }: DiskQuery,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry, void, undefined> {
  const folder = historyFolder(rootDir);
  try {
    await using store = new OfflineJournalStore(folder, clock);
    const pods = pod === undefined ? undefined : podNames(pod, (await store.findNodeName()) ?? '');
    yield* readRecords(store, { filter: { ...filter, pods }, afterId }, signal);
  } catch (error) {
    if (!(error instanceof JournalStoreError)) throw error;
    throw new PodloopError('JOURNAL_UNUSABLE', describe(error, folder), { cause: error });
  }
}

function describe({ trouble, message }: JournalStoreError, folder: string): string {
  switch (trouble) {
    case 'missing':
      return message;
    case 'locked':
      return `the history in ${folder} is in use, by an agent that starts or ends, or by another command`;
    case 'damaged':
      return `the history in ${folder} is damaged; an agent that starts sets it aside: ${message}`;
    case 'unavailable':
      return `the history in ${folder} cannot be read: ${message}`;
  }
}
