import { PodloopError } from '#base/errors/errors.js';
import {
  countBetween,
  END_KEY,
  findId,
  FIRST_KEY,
  idBefore,
  keyAtTime,
  timeOfId,
  toKey,
} from './journal-id.js';
import { type JournalQuery, matchesFilter } from './journal-query.js';
import { type JournalEntry } from './journal-record.js';
import { type StoredPair } from './journal-store.js';
import { decodeRecord } from './record-codec.js';

/** Where {@link readRecords} reads. */
export interface RecordSource {
  /** Up to so many pairs behind a key, in order. */
  readAfter(key: string, limit: number): Promise<StoredPair[]>;
  /** Up to so many pairs before a key, the last one first. */
  readBefore(key: string, limit: number): Promise<StoredPair[]>;
  /** Whether there is something under that key. */
  has(key: string): Promise<boolean>;
  /** Resolves when there is something behind a key; with false when there never will be, or the signal aborts. */
  untilBehind?(key: string, signal: AbortSignal): Promise<boolean>;
  /** Of the node whose history it is; undefined when nobody knows. Asked only when records are lost. */
  findNodeName(): Promise<string | undefined>;
  /** So many records before that key, or at it, are gone or not what was written; they are passed over. */
  onDamaged?(key: string, records: number): void;
}

/** So many are decoded before others get their turn: about a millisecond's work. */
const PAGE = 200;

/** By so much a clock may have been set back, and all records of a time are found still. */
const SET_BACK_MS = 24 * 3_600_000;

/**
 * The records that are asked for, in the order in which they came, at the reader's pace: nothing waits in memory but a
 * page. Where some are lost, a record says so in their place.
 *
 * When the signal aborts it ends, or rejects with JOURNAL_UNUSABLE when it was to end by itself: what was cut off must not
 * pass for all.
 */
export async function* readRecords(
  source: RecordSource,
  { filter = {}, afterId, follow = false }: JournalQuery,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry, void, undefined> {
  const losses = new Losses(source);
  let endMs = filter.untilMs === undefined ? Infinity : filter.untilMs + SET_BACK_MS;
  let last = beginning(afterId, filter.sinceMs);
  for (;;) {
    const page = await source.readAfter(last, PAGE);
    for (const [key, text] of page) {
      if (signal.aborted && follow) return;
      if (signal.aborted) throw new PodloopError('JOURNAL_UNUSABLE', CUT_OFF, { cause: signal.reason });
      const [id, record] = [findId(key), decodeRecord(key, text)];
      const entry = id === undefined || record === undefined ? undefined : { ...record, id };
      const loss = await losses.find(key, entry);
      if (loss !== undefined && matchesFilter(loss, filter)) yield loss;
      if (entry === undefined) continue;
      if (matchesFilter(entry, filter)) yield entry;
      if (entry.atMs <= endMs) continue;
      if (await isClockInStep(source)) return;
      // Older ones may come behind those of a clock that was ahead.
      endMs = Infinity;
    }
    last = page.at(-1)?.[0] ?? last;
    if (page.length === PAGE) continue;
    const loss = await losses.takeLast();
    if (loss !== undefined && matchesFilter(loss, filter)) yield loss;
    if (!follow || !((await source.untilBehind?.(last, signal)) ?? false)) return;
  }
}

/** Whether the newest record has its own time in its id: else the clock was set back, and has not come there again. */
async function isClockInStep(source: RecordSource): Promise<boolean> {
  const [newest] = await source.readBefore(END_KEY, 1);
  if (newest === undefined) return true;
  const atMs = decodeRecord(...newest)?.atMs;
  return atMs !== undefined && timeOfId(findId(newest[0]) ?? '') - atMs <= SET_BACK_MS;
}

const CUT_OFF = 'the history was not read to its end, as its reader or the agent is ending';

/** Finds what is missing between records, by their numbers, and those that are not what was written. */
class Losses {
  readonly #source: RecordSource;
  #lastKey: string | undefined;
  #last: JournalEntry | undefined;
  #count = 0;
  /** Of the last one that is damaged. */
  #id: string | undefined;

  constructor(source: RecordSource) {
    this.#source = source;
  }

  /** What was lost before the record of that key, which is undefined when it is damaged itself. */
  async find(key: string, entry: JournalEntry | undefined): Promise<JournalEntry | undefined> {
    const before = this.#lastKey;
    const missing = before === undefined ? 0 : countBetween(before, key);
    // What is too old goes from the beginning on, also while it is read; that is no loss.
    if (missing > 0 && (await this.#source.has(before!))) this.#note(key, missing, idBefore(key));
    if (findId(key) !== undefined) this.#lastKey = key;
    if (entry === undefined) {
      this.#note(key, 1, findId(key));
      return undefined;
    }
    const loss = this.#count === 0 ? undefined : await this.takeLast(entry);
    this.#last = entry;
    return loss;
  }

  /** What was lost behind the last record. */
  async takeLast(next?: JournalEntry): Promise<JournalEntry | undefined> {
    const [count, id] = [this.#count, this.#id];
    this.#count = 0;
    if (count === 0 || id === undefined) return undefined;
    const atMs = next?.atMs ?? this.#last?.atMs ?? 0;
    const node = await this.#source.findNodeName();
    return {
      ...{ id, atMs, kind: 'journal', type: 'Warning', reason: 'RecordsLost', count },
      message: `${count} records are lost here: the disk does not have what was written to it`,
      firstAtMs: this.#last?.atMs ?? atMs,
      ...(node === undefined ? {} : { node }),
    };
  }

  #note(key: string, records: number, id: string | undefined): void {
    this.#count += records;
    this.#id = id ?? this.#id;
    this.#source.onDamaged?.(key, records);
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
