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

/** The ports of a {@link JournalReader}. */
export interface JournalReaderOptions {
  readonly folder: string;
  readonly nodeName: string;
  readonly store: Pick<StoreKeeper, 'readable' | 'isOpening'>;
  /** Woken when something was written, or the store has changed. */
  readonly waiters: Pick<ChangeWaiters, 'untilChange'>;
  /** The key of the newest record that can be read. */
  readonly lastKey: () => string;
  readonly findTrouble: () => Error | undefined;
  readonly isClosed: () => boolean;
  /** Called when the store is damaged: another one will replace it. */
  readonly onDamage: (error: JournalStoreError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long after its arrival a record is written, unless the disk has problems. */
const WRITTEN_MS = 1_000;
/** Checks again after this time, as a change of the clock may hide what is awaited. */
const LOOK_AGAIN_MS = 60_000;
/** How many places with lost records are remembered, as readers pass them again. */
const MAX_PLACES = 1_000;

/** Reads a history while it is being written, for any number of readers, across changes of its store. */
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

  /** Undefined if the history is closed or the signal aborts, and that is not an error. */
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
      // Before the first attempt to open it the state is unknown.
      if (store === undefined && trouble !== undefined && !keeper.isOpening) throw this.#unusable(trouble);
      try {
        if (store !== undefined) return await look(store);
      } catch (error) {
        // Another store has replaced it: its error does not apply to the new one.
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

  /** Also returns false if everything that may still come is too new. */
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
    if (this.#places.size >= MAX_PLACES) this.#places.clear();
    this.#places.add(key);
    this.#damaged += records;
    this.#options.logger.warn('Records of the history are lost and passed over', { key, records });
  }
}
