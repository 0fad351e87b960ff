import { findId, FIRST_KEY, keyAtTime, toKey } from './journal-id.js';
import { type JournalQuery, matchesFilter } from './journal-query.js';
import { type JournalEntry } from './journal-record.js';
import { type StoredPair } from './journal-store.js';
import { decodeRecord } from './record-codec.js';

/** Where {@link readRecords} reads. */
export interface RecordSource {
  /** Up to so many pairs behind a key, in order. */
  readAfter(key: string, limit: number): Promise<StoredPair[]>;
  /** Resolves when there is something behind a key; with false when there never will be, or the signal aborts. */
  untilBehind?(key: string, signal: AbortSignal): Promise<boolean>;
  /** A record is not what was written; it is passed over. */
  onDamaged?(key: string): void;
}

/** So many are decoded before others get their turn: about a millisecond's work. */
const PAGE = 200;

/**
 * The records that are asked for, in the order in which they came, at the reader's pace: nothing waits in memory but a
 * page. Ends early, without an error, when the signal aborts.
 */
export async function* readRecords(
  source: RecordSource,
  { filter = {}, afterId, follow = false }: JournalQuery,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry, void, undefined> {
  let last = beginning(afterId, filter.sinceMs);
  for (;;) {
    const page = await source.readAfter(last, PAGE);
    for (const [key, text] of page) {
      if (signal.aborted) return;
      const [id, record] = [findId(key), decodeRecord(key, text)];
      if (id === undefined || record === undefined) source.onDamaged?.(key);
      else if (matchesFilter({ ...record, id }, filter)) yield { ...record, id };
    }
    last = page.at(-1)?.[0] ?? last;
    if (page.length === PAGE) continue;
    if (!follow || !((await source.untilBehind?.(last, signal)) ?? false)) return;
  }
}

/** A record has its own time or, where the clock was set back, a later one in its id: none is passed over. */
function beginning(afterId: string | undefined, sinceMs: number | undefined): string {
  const keys = [
    ...(afterId === undefined ? [FIRST_KEY] : [toKey(afterId)]),
    // Behind this key and not at it: the number 0 of that very millisecond is wanted too.
    ...(sinceMs === undefined ? [] : [keyAtTime(sinceMs - 1)]),
  ];
  return keys.sort().at(-1)!;
}
