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

/** The source of {@link readRecords}. */
export interface RecordSource {
  /** Up to `limit` pairs after a key, in order. */
  readAfter(key: string, limit: number): Promise<StoredPair[]>;
  /** Up to `limit` pairs before a key, the last one first. */
  readBefore(key: string, limit: number): Promise<StoredPair[]>;
  /** Whether the key exists. */
  has(key: string): Promise<boolean>;
  /**
   * Resolves with true when there is a record after a key; with false when there never will be, or the signal
   * aborts.
   */
  untilBehind?(key: string, signal: AbortSignal): Promise<boolean>;
  /** The node of this history; undefined if unknown. Only called when records are lost. */
  findNodeName(): Promise<string | undefined>;
  /**
   * Called for records before that key, or at it, that are missing or not what was written; they are skipped.
   */
  onDamaged?(key: string, records: number): void;
}

/** How many records are decoded between two turns of the event loop: about a millisecond's work. */
const PAGE = 200;

/** How far a clock may have been set back without records of a time being missed. */
const SET_BACK_MS = 24 * 3_600_000;

/**
 * Reads the selected records in order, at the reader's pace, with only one page in memory.
 *
 * A record reports lost ones in their place. When the signal aborts, it ends if it follows; otherwise it
 * rejects with JOURNAL_UNUSABLE, as an interrupted result must not look complete.
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
      // Older ones may come after those of a clock that was ahead.
      endMs = Infinity;
    }
    last = page.at(-1)?.[0] ?? last;
    if (page.length === PAGE) continue;
    const loss = await losses.takeLast();
    if (loss !== undefined && matchesFilter(loss, filter)) yield loss;
    if (!follow || !((await source.untilBehind?.(last, signal)) ?? false)) return;
  }
}

/**
 * Whether the id of the newest record has its own time. Otherwise the clock was set back, and has not caught
 * up yet.
 */
async function isClockInStep(source: RecordSource): Promise<boolean> {
  const [newest] = await source.readBefore(END_KEY, 1);
  if (newest === undefined) return true;
  const atMs = decodeRecord(...newest)?.atMs;
  return atMs !== undefined && timeOfId(findId(newest[0]) ?? '') - atMs <= SET_BACK_MS;
}

const CUT_OFF = 'the history was not read to its end, as its reader or the agent is ending';

/** Finds missing records by their numbers, and records that are not what was written. */
class Losses {
  readonly #source: RecordSource;
  #lastKey: string | undefined;
  #last: JournalEntry | undefined;
  #count = 0;
  /** The id of the last damaged record. */
  #id: string | undefined;

  constructor(source: RecordSource) {
    this.#source = source;
  }

  /** The losses before the record with this key; `entry` is undefined if that one is damaged itself. */
  async find(key: string, entry: JournalEntry | undefined): Promise<JournalEntry | undefined> {
    const before = this.#lastKey;
    const missing = before === undefined ? 0 : countBetween(before, key);
    // Old records are removed from the beginning, also during a read; that is not a loss.
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

  /** The losses after the last record. */
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

/** The key to begin at: the time in an id is never earlier than the record's own, so none is missed. */
function beginning(afterId: string | undefined, sinceMs: number | undefined): string {
  const keys = [
    ...(afterId === undefined ? [FIRST_KEY] : [toKey(afterId)]),
    // After this key and not at it, as number 0 of that very millisecond is included.
    ...(sinceMs === undefined ? [] : [keyAtTime(sinceMs - 1)]),
  ];
  return keys.sort().at(-1)!;
}
