/**
 * The persistent history of a node: what happened to pods, the runtime and the agent.
 *
 * ```
 * append ─► queue ─► batches ─► store ─► pages ─► readers
 *                                 └► limits: the oldest go
 * ```
 *
 * In: records; appending never waits. Out: the same records in order, each with an id, also after a restart.
 * They can be read from any position and followed. The history is bounded in bytes and in age: the oldest
 * records are removed first.
 *
 * It assumes that a write may fail or hang at any time, and must never block anybody. Records wait in a
 * bounded queue. A store that fails can still be read and is opened again with back-off; a damaged one is set
 * aside. Lost records are counted and reported in their place. A kill loses what was not written yet: the
 * last {@link BATCH_MS} milliseconds while the disk keeps up, and the records in memory while it does not. A
 * power failure loses nothing before an urgent record, unless the disk lies about its flushes.
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
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

/** Options of a {@link Journal}. */
export interface JournalOptions extends Publisher {
  /** Its own folder, which is created if it is missing. */
  readonly folder: string;
  /** The node of this history. */
  readonly nodeName: string;
  readonly limits: JournalLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many records may wait for the disk (default: 5000). */
  readonly queueCapacity?: number;
}

/** The present state of a history. */
export interface JournalFacts {
  readonly queued: number;
  readonly written: number;
  readonly dropped: number;
  readonly writeErrors: number;
  /** Lost records: readers found them missing or different from what was written. */
  readonly damaged: number;
  /** Size on the disk at the last check. */
  readonly bytes: number;
  /** Why nothing can be written now; undefined while all is well. */
  readonly trouble: string | undefined;
}

/** How long records are collected before they are written. */
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
  /** Damage that a reader found. */
  #damage: JournalStoreError | undefined;
  #isClosed = false;
  #isFlushing = false;
  #steps = 0;
  #writeErrors = 0;

  constructor(options: JournalOptions) {
    const { folder, nodeName, limits, channels, clock, logger, queueCapacity = QUEUE_CAPACITY } = options;
    this.#options = options;
    this.#queue = new RecordQueue(queueCapacity, nodeName);
    this.#limits = new LimitKeeper(limits, clock);
    this.#writer = new BatchWriter({
      ...{ channels, clock, queue: this.#queue },
      onWritten: (bytes) => {
        this.#limits.wrote(bytes);
        this.#waiters.wakeAll();
      },
    });
    this.#store = new StoreKeeper({
      ...{ folder, logger, maxBytes: limits.maxBytes },
      // Readers are woken by the next write; after a store was set aside, that is the record about it.
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

  /** Adds a record. Never waits, never throws. */
  append(record: JournalRecord): void {
    this.#queue.push(record);
    this.#arrival.wake();
  }

  /** Writes records until the signal aborts, and then the remaining ones. Never rejects. */
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

  /** Resolves when a write of all records so far was attempted; for tests and for shutdown. */
  async flush(): Promise<void> {
    // A running step may already be past the queue.
    for (const until = this.#steps + 2; this.#steps < until && !this.#isClosed;) {
      this.#isFlushing = true;
      this.#hurry.wake();
      this.#arrival.wake();
      await this.#waiters.untilChange();
    }
  }

  /**
   * Reads the selected records.
   *
   * Rejects with JOURNAL_UNUSABLE if the disk cannot be read or reading was interrupted, and with RangeError
   * if `afterId` is invalid. With `follow` it ends when the signal aborts or the history is closed.
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

  /**
   * Logged once for as long as it lasts; a store that has failed accepts nothing more until it is opened
   * again.
   */
  async #failed(error: unknown): Promise<void> {
    const { folder, logger } = this.#options;
    const trouble =
      error instanceof JournalStoreError ? error : new JournalStoreError('unavailable', messageOf(error));
    this.#writeErrors++;
    const { length: queued } = this.#queue;
    publishTo(this.#options.channels, journalWritten, {
      records: 0,
      bytes: 0,
      durationMs: 0,
      queued,
      error: trouble.message,
    });
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
      // It is retried before anything is written or read.
      this.#damage = trouble;
      if (isNews) logger.error('Damaged history cannot be set aside', outcome.error, { folder });
      return;
    }
    const { aside } = outcome;
    // A reader may have found the same.
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
