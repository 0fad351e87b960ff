import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger } from '#base/log/logger.js';
import { type ChangeWaiters } from './change-waiters.js';
import { type JournalQuery } from './journal-query.js';
import { type JournalEntry } from './journal-record.js';
import { type JournalStore, JournalStoreError } from './journal-store.js';
import { readRecords } from './read-records.js';
import { type StoreKeeper } from './store-keeper.js';

/** What a {@link JournalReader} needs. */
export interface JournalReaderOptions {
  readonly folder: string;
  readonly nodeName: string;
  readonly store: Pick<StoreKeeper, 'readable' | 'isOpening'>;
  /** Woken whenever something was written, or the store has changed. */
  readonly waiters: Pick<ChangeWaiters, 'untilChange'>;
  /** Of the newest record that can be read. */
  readonly lastKey: () => string;
  readonly findTrouble: () => Error | undefined;
  readonly isClosed: () => boolean;
  /** The store is damaged: another one will be in its place. */
  readonly onDamage: (error: JournalStoreError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** So long after it came a record is written, unless the disk is in trouble. */
const WRITTEN_MS = 1_000;
/** What was waited for may have been missed by a clock that was set. */
const LOOK_AGAIN_MS = 60_000;
/** Places of which it was told that records are lost there: whoever reads comes by them again. */
const MOST_PLACES = 1_000;

/** Reads a history while it is written, for any number of readers, over all that becomes of its store. */
export class JournalReader {
  readonly #options: JournalReaderOptions;
  readonly #places = new Set<string>();
  #damaged = 0;

  constructor(options: JournalReaderOptions) {
    this.#options = options;
  }

  /** How many records were found to be lost. */
  get damaged(): number {
    return this.#damaged;
  }

  /** See {@link Journal.read}. */
  read(query: JournalQuery, signal: AbortSignal): AsyncGenerator<JournalEntry, void, undefined> {
    const isFollowing = query.follow === true;
    const look = async <Value>(read: (store: JournalStore) => Promise<Value>, none: Value): Promise<Value> =>
      (await this.#withStore(read, isFollowing, signal)) ?? none;
    const source = {
      readAfter: (key: string, limit: number) => look((store) => store.readAfter(key, limit), []),
      readBefore: (key: string, limit: number) => look((store) => store.readBefore(key, limit), []),
      has: (key: string) => look((store) => store.has(key), false),
      untilBehind: (key: string) => this.#untilBehind(key, query.filter?.untilMs, signal),
      findNodeName: () => Promise.resolve(this.#options.nodeName),
      onDamaged: (key: string, records: number) => this.#noteDamage(key, records),
    };
    return readRecords(source, query, signal);
  }

  /** Undefined when the history is closed or the signal aborts and that is no error. */
  async #withStore<Value>(
    look: (store: JournalStore) => Promise<Value>,
    mayEnd: boolean,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const { store: keeper, findTrouble, isClosed, onDamage, waiters } = this.#options;
    for (;;) {
      if (signal.aborted || isClosed()) {
        if (mayEnd) return undefined;
        throw this.#unusable(signal.aborted ? signal.reason : new Error('the agent is ending'));
      }
      const store = keeper.readable;
      const trouble = findTrouble();
      // Before the first try to open it nobody knows.
      if (store === undefined && trouble !== undefined && !keeper.isOpening) throw this.#unusable(trouble);
      try {
        if (store !== undefined) return await look(store);
      } catch (error) {
        // Another one is in its place by now: what was wrong with this says nothing of that.
        if (store !== keeper.readable || isClosed()) continue;
        if (!(error instanceof JournalStoreError) || error.trouble !== 'damaged') throw this.#unusable(error);
        onDamage(error);
      }
      await waiters.untilChange(signal);
    }
  }

  #unusable(cause: unknown): PodloopError {
    const message = `the history in ${this.#options.folder} cannot be read now: ${messageOf(cause)}`;
    return new PodloopError('JOURNAL_UNUSABLE', message, { cause });
  }

  /** False also when all that may still come is too new to be wanted. */
  async #untilBehind(key: string, untilMs: number | undefined, signal: AbortSignal): Promise<boolean> {
    const { lastKey, isClosed, waiters, clock } = this.#options;
    while (lastKey() <= key) {
      const leftMs = untilMs === undefined ? LOOK_AGAIN_MS : untilMs + WRITTEN_MS - clock.now();
      if (signal.aborted || isClosed() || leftMs <= 0) return false;
      const waiting = linkAbort(signal);
      const timer = clock.setTimer(Math.min(leftMs, LOOK_AGAIN_MS), () => waiting.abort(), { unref: true });
      await waiters.untilChange(waiting.signal);
      timer.cancel();
      waiting.unlink();
    }
    return true;
  }

  #noteDamage(key: string, records: number): void {
    if (this.#places.has(key)) return;
    if (this.#places.size >= MOST_PLACES) this.#places.clear();
    this.#places.add(key);
    this.#damaged += records;
    this.#options.logger.warn('Records of the history are lost and passed over', { key, records });
  }
}
