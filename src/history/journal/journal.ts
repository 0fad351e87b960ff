/**
 * The history of a node on its disk: what happened to pods, the runtime and the agent, for whoever asks later.
 *
 * ```
 * append ─► queue ─► batches ─► store ─► pages ─► readers
 *                                 └► limits: the oldest go
 * ```
 *
 * In: records, which nobody has to wait for. Out: the same in the order in which they came, with an id each, also after
 * a restart; to be read from any place and followed. It is bounded in bytes and in age: the oldest go first.
 *
 * It assumes that a write may fail or hang at any time, and never stops anybody: records wait in a bounded queue, a store
 * that fails can be read on and is opened anew with back-off, one that is damaged is set aside, and what could not be kept
 * is counted and told in its place. A kill loses what was not written yet: that of the last {@link BATCH_MS} milliseconds
 * while the disk keeps up, and what waits in memory while it does not. A loss of power loses nothing that is before an
 * urgent record, unless the disk lies.
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { journalWritten } from '#base/channels/journal-channels.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { BatchWriter } from './batch-writer.js';
import { ChangeWaiters } from './change-waiters.js';
import { type JournalLimits, LimitKeeper, LOOK_MS } from './journal-limits.js';
import { type JournalQuery } from './journal-query.js';
import { JournalReader } from './journal-reader.js';
import { type JournalEntry, type JournalRecord } from './journal-record.js';
import { JournalStoreError } from './journal-store.js';
import { RecordQueue } from './record-queue.js';
import { StoreKeeper } from './store-keeper.js';

/** What a {@link Journal} needs. */
export interface JournalOptions {
  /** Its own; made when it is missing. */
  readonly folder: string;
  /** Of the node whose history it is. */
  readonly nodeName: string;
  readonly limits: JournalLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many records may wait for the disk (default: 5000). */
  readonly queueCapacity?: number;
}

/** A history, as of now. */
export interface JournalFacts {
  readonly queued: number;
  readonly written: number;
  readonly dropped: number;
  readonly writeErrors: number;
  /** Records that were gone or not what had been written, as somebody read them. */
  readonly damaged: number;
  /** On the disk, when it was looked at last. */
  readonly bytes: number;
  /** Why nothing can be written now; undefined while all is well. */
  readonly trouble: string | undefined;
}

/** So long records are collected before they are written. */
const BATCH_MS = 200;
const QUEUE_CAPACITY = 5_000;

/** See the module. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #queue: RecordQueue;
  readonly #store: StoreKeeper;
  readonly #writer: BatchWriter;
  readonly #limits: LimitKeeper;
  readonly #reader: JournalReader;
  readonly #arrival = new Wakeup();
  readonly #hurry = new Wakeup();
  readonly #backoff = new Backoff({ initialMs: 1_000, maxMs: 30_000 });
  readonly #waiters = new ChangeWaiters();
  #trouble: JournalStoreError | undefined;
  /** As somebody found who read. */
  #damage: JournalStoreError | undefined;
  #isClosed = false;
  #isFlushing = false;
  #steps = 0;
  #writeErrors = 0;

  constructor(options: JournalOptions) {
    const { folder, nodeName, limits, clock, logger, queueCapacity = QUEUE_CAPACITY } = options;
    this.#options = options;
    this.#queue = new RecordQueue(queueCapacity, nodeName);
    this.#limits = new LimitKeeper(limits, clock);
    this.#writer = new BatchWriter({
      ...{ clock, queue: this.#queue },
      onWritten: (bytes) => {
        this.#limits.wrote(bytes);
        this.#waiters.wakeAll();
      },
    });
    this.#store = new StoreKeeper({
      ...{ folder, logger, maxBytes: limits.maxBytes },
      // Who reads is woken by what is written next: of a store that was set aside that says so.
      onOpened: (last) => this.#writer.goOnBehind(last),
    });
    this.#reader = new JournalReader({
      ...{ folder, nodeName, clock, logger, store: this.#store, waiters: this.#waiters },
      lastKey: () => this.#writer.lastKey,
      findTrouble: () => this.#trouble,
      isClosed: () => this.#isClosed,
      onDamage: (error) => this.#setAsideSoon(error),
    });
  }

  get facts(): JournalFacts {
    const { waiting: queued, written } = this.#writer;
    return {
      ...{ queued, written, dropped: this.#queue.dropped, writeErrors: this.#writeErrors },
      ...{ damaged: this.#reader.damaged, bytes: this.#limits.bytes, trouble: this.#trouble?.message },
    };
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
    await this.#store.close();
    this.#waiters.wakeAll();
  }

  /** Resolves when everything that has come so far was tried to write; for tests, and for the end. */
  async flush(): Promise<void> {
    // A step that is under way may be past the queue already.
    for (const until = this.#steps + 2; this.#steps < until && !this.#isClosed;) {
      this.#isFlushing = true;
      this.#hurry.wake();
      this.#arrival.wake();
      await this.#waiters.untilChange();
    }
  }

  /**
   * The records that are asked for. Rejects with JOURNAL_UNUSABLE while the disk cannot be read or when it was cut off, and
   * with RangeError when `afterId` is no id. One that follows ends when the signal aborts or the history is closed.
   */
  read(query: JournalQuery, signal: AbortSignal): AsyncGenerator<JournalEntry, void, undefined> {
    return this.#reader.read(query, signal);
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
      const damage = this.#damage;
      this.#damage = undefined;
      if (damage !== undefined) throw damage;
      const store = await this.#store.open();
      await this.#writer.writeAll(store);
      await this.#limits.look(store);
      this.#recovered();
    } catch (error) {
      await this.#failed(error);
    }
    this.#steps++;
    this.#waiters.wakeAll();
  }

  #recovered(): void {
    this.#backoff.reset();
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    const { written } = this.#writer;
    this.#options.logger.info('History is written again', { folder: this.#options.folder, written });
  }

  /** Said once for as long as it lasts; a store that has failed takes nothing more until it is opened anew. */
  async #failed(error: unknown): Promise<void> {
    const { folder, logger } = this.#options;
    const trouble =
      error instanceof JournalStoreError ? error : new JournalStoreError('unavailable', messageOf(error));
    this.#writeErrors++;
    const { length: queued } = this.#queue;
    journalWritten.publish({ records: 0, bytes: 0, durationMs: 0, queued, error: trouble.message });
    const isNews = this.#trouble?.trouble !== trouble.trouble;
    this.#trouble = trouble;
    if (trouble.trouble === 'damaged') {
      await this.#setAside(trouble, isNews);
      return;
    }
    this.#store.keepForReading();
    if (isNews) logger.error('History cannot be written, records wait in memory', trouble, { folder });
  }

  async #setAside(trouble: JournalStoreError, isNews: boolean): Promise<void> {
    const { folder, nodeName: node, logger, clock } = this.#options;
    const outcome = await this.#store.setAside();
    if ('error' in outcome) {
      // It is tried again before anything is written or read.
      this.#damage = trouble;
      if (isNews) logger.error('Damaged history cannot be set aside', outcome.error, { folder });
      return;
    }
    const { aside } = outcome;
    // Who read it may have found the same.
    this.#damage = undefined;
    logger.error('History is damaged: it was set aside and a new one is begun', trouble, { aside });
    this.append({
      ...{ atMs: clock.now(), kind: 'journal', type: 'Warning', reason: 'HistoryDamaged', node },
      message: `The history before was damaged and lies in ${aside} now: ${trouble.message}`,
    });
    this.#hurry.wake();
  }

  #setAsideSoon(damage: JournalStoreError): void {
    this.#damage ??= damage;
    this.#hurry.wake();
    this.#arrival.wake();
  }
}
