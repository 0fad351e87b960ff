import { type JournalFilter } from '../../journal/journal-query.js';
import { type JournalEntry } from '../../journal/journal-record.js';
import { JournalStore, JournalStoreError } from '../../journal/journal-store.js';
import { readRecords } from '../../journal/read-records.js';
import { PodloopError } from '../../util/errors.js';
import { historyFolder } from './history-folder.js';
import { podNames } from './serve-history.js';

export { JOURNAL_KINDS, type JournalEntry } from '../../journal/journal-record.js';
/** Which records of a history on the disk are wanted. */
export interface DiskFilter extends Omit<JournalFilter, 'pods'> {
  /** The name of a pod, also as in its manifest. */
  readonly pod?: string | undefined;
}

/**
 * The history of an agent that is down, from its root folder. Rejects with JOURNAL_UNUSABLE when there is none, or
 * somebody has it.
 */
export async function* readHistoryOnDisk(
  rootDir: string,
  { pod, ...filter }: DiskFilter,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry, void, undefined> {
  const folder = historyFolder(rootDir);
  try {
    const store = await JournalStore.open({ folder, create: false });
    try {
      const pods = pod === undefined ? undefined : podNames(pod, await findNodeName(store, signal));
      yield* readRecords(store, { filter: { ...filter, pods } }, signal);
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof JournalStoreError)) throw error;
    throw new PodloopError('JOURNAL_UNUSABLE', describe(error, folder), { cause: error });
  }
}

/** As the newest agent was called. */
async function findNodeName(store: JournalStore, signal: AbortSignal): Promise<string> {
  let name = '';
  for await (const { node } of readRecords(store, { filter: { kinds: ['agent'] } }, signal)) {
    name = node ?? name;
  }
  return name;
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
