import { type RecordSource } from '../../journal/read-records.js';
import { JournalStore, type StoredPair } from '../../journal/journal-store.js';
import { type Clock, type ClockTimer } from '../../util/clock.js';

/** Longer than it takes to print a page, and short for an agent that wants it. */
const IDLE_MS = 250;

/**
 * The store of an agent that is down, held only while it is read: whoever reads it page by page in a pager would else keep
 * it from the agent that starts meanwhile. Every method rejects with a JournalStoreError, also later on, when somebody
 * else has it by then.
 */
export class LentStore implements RecordSource, AsyncDisposable {
  readonly #folder: string;
  readonly #clock: Clock;
  #store: JournalStore | undefined;
  #idle: ClockTimer | undefined;
  #closing: Promise<void> = Promise.resolve();

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async readAfter(key: string, limit: number): Promise<StoredPair[]> {
    return await this.#use((store) => store.readAfter(key, limit));
  }

  async readBefore(key: string, limit: number): Promise<StoredPair[]> {
    return await this.#use((store) => store.readBefore(key, limit));
  }

  async has(key: string): Promise<boolean> {
    return await this.#use((store) => store.has(key));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#giveBack();
    await this.#closing;
  }

  async #use<Value>(read: (store: JournalStore) => Promise<Value>): Promise<Value> {
    this.#idle?.cancel();
    await this.#closing;
    this.#store ??= await JournalStore.open({ folder: this.#folder, create: false });
    try {
      return await read(this.#store);
    } finally {
      this.#idle = this.#clock.setTimer(IDLE_MS, () => this.#giveBack(), { unref: true });
    }
  }

  #giveBack(): void {
    this.#idle?.cancel();
    const store = this.#store;
    this.#store = undefined;
    // What was read is read, however it closes.
    if (store !== undefined) this.#closing = store.close().catch(() => undefined);
  }
}
