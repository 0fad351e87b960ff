import { historyFolder, type JournalEntry, JournalStoreError, LentStore, readRecords } from '#history';
import { type HistoryFilter } from '#kube/node/history-filter.js';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { podNames } from './serve-history.js';

export { JOURNAL_KINDS, type JournalEntry } from '#history';

/** What of a history on the disk is read. */
export interface DiskQuery {
  /** Of the agent that has written it. */
  readonly rootDir: string;
  readonly filter: HistoryFilter;
  /** Goes on behind the record of this id. */
  readonly afterId?: string | undefined;
  readonly clock: Clock;
}

/**
 * The history of an agent that is down. Rejects with JOURNAL_UNUSABLE when there is none, or somebody has it; also on the
 * way, as it is nobody's while its reader takes his time.
 */
export async function* readHistoryOnDisk(
  { rootDir, filter: { pod, ...filter }, afterId, clock }: DiskQuery,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry, void, undefined> {
  const folder = historyFolder(rootDir);
  try {
    await using store = new LentStore(folder, clock);
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
