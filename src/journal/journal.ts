/**
 * The history of a node on its disk: what happened to pods, the runtime and the agent, for whoever asks later.
 *
 * In: records, which nobody has to wait for. Out: the same in the order in which they came, with an id each, also after
 * a restart; to be read from any place and followed. It is bounded in bytes and in age: the oldest go first.
 *
 * It assumes that a write may fail or hang at any time, and never stops anybody: records wait in a bounded queue, a store
 * that fails is opened anew with back-off, one that is damaged is set aside, and what could not be kept is counted and
 * told in its place. A kill loses what was not written yet: that of the last {@link BATCH_MS} milliseconds while the disk
 * keeps up, and what waits in memory while it does not. A loss of power loses nothing that is before an urgent record,
 * unless the disk lies.
 *
 * @module
 */
import { rename, rm } from 'node:fs/promises';
import { Backoff } from '../util/backoff.js';
import { type Clock } from '../util/clock.js';
import { messageOf, PodloopError } from '../util/errors.js';
import { journalWritten } from '../util/journal-channels.js';
import { type Logger } from '../util/logger.js';
import { Wakeup } from '../util/wakeup.js';
import { FIRST_KEY, JournalIds, toKey } from './journal-id.js';
import { type JournalLimits, keepWithin } from './journal-limits.js';
import { type JournalQuery } from './journal-query.js';
import { isUrgent, type JournalEntry, type JournalRecord } from './journal-record.js';
import { JournalStore, JournalStoreError, type StoredPair } from './journal-store.js';
import { readRecords } from './read-records.js';
import { encodeRecord } from './record-codec.js';
import { RecordQueue } from './record-queue.js';

/** What a {@link Journal} needs. */
export interface JournalOptions {
  /** Its own; made when it is missing. */
  readonly folder: string;
  readonly limits: JournalLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many records may wait for the disk; 5000 unless told. */
  readonly queueCapacity?: number;
}

/** A history, as of now. */
export interface JournalFacts {
  readonly queued: number;
  readonly written: number;
  readonly dropped: number;
  readonly writeErrors: number;
  /** Records that were not what had been written, as somebody read them. */
  readonly damaged: number;
  /** On the disk, when it was looked at last. */
  readonly bytes: number;
  /** Why nothing can be written now; undefined while all is well. */
  readonly trouble: string | undefined;
}

/** So long records are collected before they are written. */
export const BATCH_MS = 200;
/** Encoding them takes a few milliseconds, in which nobody else has a turn. */
const MOST_PER_BATCH = 500;
const QUEUE_CAPACITY = 5_000;
const LOOK_MS = 30_000;
/** Also looked at when this share of what is allowed was written. */
const LOOK_SHARE = 1 / 32;

/** See the module. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #queue: RecordQueue;
  readonly #arrival = new Wakeup();
  readonly #hurry = new Wakeup();
  readonly #backoff = new Backoff({ initialMs: 1_000, maxMs: 30_000 });
  readonly #waiting = new Set<() => void>();
  #store: JournalStore | undefined;
  #ids: JournalIds | undefined;
  /** Encoded and not written yet: under the same keys when it is tried again, so that nothing is there twice. */
  #pairs: { readonly pairs: StoredPair[]; readonly sync: boolean } | undefined;
  #lastKey = FIRST_KEY;
  #trouble: JournalStoreError | undefined;
  #isClosed = false;
  #isFlushing = false;
  #steps = 0;
  #lookAtMs = 0;
  #unlookedBytes = 0;
  readonly #counts = { written: 0, writeErrors: 0, damaged: 0, bytes: 0 };

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#queue = new RecordQueue(options.queueCapacity ?? QUEUE_CAPACITY);
  }

  get facts(): JournalFacts {
    const { length: queued, dropped } = this.#queue;
    const waiting = queued + (this.#pairs?.pairs.length ?? 0);
    return { ...this.#counts, queued: waiting, dropped, trouble: this.#trouble?.message };
  }

  /** Takes a record in. Never waits, never throws. */
  append(record: JournalRecord): void {
    this.#queue.push(record);
    this.#arrival.wake();
  }

  /** Writes what comes until the signal aborts, and then what is left. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#step();
      await this.#pause(signal).catch(() => undefined);
    }
    await this.#step();
    this.#isClosed = true;
    await this.#closeStore();
    this.#wakeAll();
  }

  /** Resolves when everything that has come so far was tried to write; for tests, and for the end. */
  async flush(): Promise<void> {
    // A step that is under way may be past the queue already.
    for (const until = this.#steps + 2; this.#steps < until && !this.#isClosed;) {
      this.#isFlushing = true;
      this.#hurry.wake();
      this.#arrival.wake();
      await this.#untilChange();
    }
  }

  /**
   * The records that are asked for. Rejects with JOURNAL_UNUSABLE while the disk cannot be read, and with RangeError when
   * `afterId` is no id. Ends early when the signal aborts or the history is closed.
   */
  read(query: JournalQuery, signal: AbortSignal): AsyncGenerator<JournalEntry, void, undefined> {
    const source = {
      readAfter: async (key: string, limit: number) => this.#readAfter(key, limit, signal),
      untilBehind: async (key: string) => this.#untilBehind(key, signal),
      onDamaged: (key: string) => {
        this.#counts.damaged++;
        this.#options.logger.warn('Record of the history is damaged and passed over', { key });
      },
    };
    return readRecords(source, query, signal);
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (this.#trouble !== undefined) {
      await this.#hurry.wait(clock, this.#backoff.nextMs(), signal);
      return;
    }
    await this.#arrival.wait(clock, LOOK_MS, signal);
    await this.#hurry.wait(clock, this.#isFlushing ? 0 : BATCH_MS, signal);
  }

  async #step(): Promise<void> {
    this.#isFlushing = false;
    try {
      const store = this.#store ?? (await this.#open());
      await this.#writeAll(store);
      await this.#lookAt(store);
      this.#recovered();
    } catch (error) {
      await this.#failed(error);
    }
    this.#steps++;
    this.#wakeAll();
  }

  async #open(): Promise<JournalStore> {
    const { folder, limits } = this.#options;
    const store = await JournalStore.open({ folder, maxBytes: limits.maxBytes });
    this.#store = store;
    const ends = await store.findEnds();
    this.#ids ??= new JournalIds(ends?.last);
    if (ends !== undefined) this.#lastKey = toKey(ends.last);
    this.#wakeAll();
    return store;
  }

  async #writeAll(store: JournalStore): Promise<void> {
    for (;;) {
      this.#pairs ??= this.#encodeNext();
      if (this.#pairs === undefined) return;
      const { pairs, sync } = this.#pairs;
      const { clock } = this.#options;
      const startedAtMs = clock.monotonicMs();
      await store.write(pairs, sync);
      this.#pairs = undefined;
      this.#lastKey = pairs.at(-1)![0];
      const bytes = pairs.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
      this.#unlookedBytes += bytes;
      this.#counts.written += pairs.length;
      const durationMs = clock.monotonicMs() - startedAtMs;
      const { length: queued } = this.#queue;
      journalWritten.publish({ records: pairs.length, bytes, durationMs, queued, error: undefined });
      this.#wakeAll();
    }
  }

  #encodeNext(): { pairs: StoredPair[]; sync: boolean } | undefined {
    const records = this.#queue.take(MOST_PER_BATCH);
    if (records.length === 0) return undefined;
    const pairs = records.map((record): StoredPair => {
      const key = toKey(this.#ids!.next(record.atMs));
      return [key, encodeRecord(key, record)];
    });
    return { pairs, sync: records.some(isUrgent) };
  }

  async #lookAt(store: JournalStore): Promise<void> {
    const { clock, limits } = this.#options;
    const isDue = clock.monotonicMs() >= this.#lookAtMs;
    if (!isDue && this.#unlookedBytes < limits.maxBytes * LOOK_SHARE) return;
    const bytes = await keepWithin(store, limits, clock.now());
    this.#counts.bytes = bytes;
    this.#unlookedBytes = 0;
    this.#lookAtMs = clock.monotonicMs() + LOOK_MS;
  }

  #recovered(): void {
    this.#backoff.reset();
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    const { written } = this.#counts;
    this.#options.logger.info('History is written again', { folder: this.#options.folder, written });
  }

  /** Said once for as long as it lasts; a store that has failed takes nothing more until it is opened anew. */
  async #failed(error: unknown): Promise<void> {
    const { folder, logger } = this.#options;
    const trouble =
      error instanceof JournalStoreError ? error : new JournalStoreError('unavailable', messageOf(error));
    this.#counts.writeErrors++;
    const { length: queued } = this.#queue;
    journalWritten.publish({ records: 0, bytes: 0, durationMs: 0, queued, error: trouble.message });
    const isNews = this.#trouble?.trouble !== trouble.trouble;
    this.#trouble = trouble;
    await this.#closeStore();
    if (trouble.trouble === 'damaged') await this.#setAside(trouble, isNews);
    else if (isNews) {
      logger.error('History cannot be written, records wait in memory', trouble, { folder });
    }
  }

  async #setAside(trouble: JournalStoreError, isNews: boolean): Promise<void> {
    const { folder, logger, clock } = this.#options;
    const aside = `${folder}.damaged`;
    try {
      await rm(aside, { recursive: true, force: true });
      await rename(folder, aside);
    } catch (error) {
      if (isNews) logger.error('Damaged history cannot be set aside', error, { folder });
      return;
    }
    logger.error('History is damaged: it was set aside and a new one is begun', trouble, { aside });
    this.append({
      ...{ atMs: clock.now(), kind: 'journal', type: 'Warning', reason: 'HistoryDamaged' },
      message: `The history before was damaged and lies in ${aside} now: ${trouble.message}`,
    });
    this.#hurry.wake();
  }

  async #closeStore(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await store?.close().catch((error: unknown) => {
      this.#options.logger.error('History cannot be closed', error, { folder: this.#options.folder });
    });
  }

  async #readAfter(key: string, limit: number, signal: AbortSignal): Promise<StoredPair[]> {
    // Before the first try to open it nobody knows.
    while (this.#store === undefined && this.#trouble === undefined && !this.#isClosed) {
      if (signal.aborted) return [];
      await this.#untilChange(signal);
    }
    try {
      if (this.#store === undefined) throw this.#trouble ?? new Error('the agent is ending');
      return await this.#store.readAfter(key, limit);
    } catch (error) {
      if (signal.aborted || this.#isClosed) return [];
      const message = `the history in ${this.#options.folder} cannot be read now: ${messageOf(error)}`;
      throw new PodloopError('JOURNAL_UNUSABLE', message, { cause: error });
    }
  }

  async #untilBehind(key: string, signal: AbortSignal): Promise<boolean> {
    while (this.#lastKey <= key) {
      if (signal.aborted || this.#isClosed) return false;
      await this.#untilChange(signal);
    }
    return true;
  }

  #untilChange(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal?.addEventListener('abort', done);
    });
  }

  #wakeAll(): void {
    for (const done of [...this.#waiting]) done();
  }
}
