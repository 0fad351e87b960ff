import { END_KEY } from '../journal/journal-id.js';
import { type RecordSource } from '../journal/read-records.js';
import { decodeRecord } from '../journal/record-codec.js';
import { JournalStore, type StoredPair } from '../journal/journal-store.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** Longer than printing a page takes, and short for an agent that waits for the store. */
const IDLE_MS = 250;
/** How many records are read between two turns of the event loop. */
const PAGE = 500;

/**
 * The store of a stopped agent, opened only while it is being read.
 *
 * A reader may print it page by page in a pager, and must not block an agent that starts meanwhile. Every
 * method rejects with a JournalStoreError, also later if another process has the store by then.
 */
export class OfflineJournalStore implements RecordSource, AsyncDisposable {
  readonly #folder: string;
  readonly #clock: Clock;
  #store: JournalStore | undefined;
  #idle: ClockTimer | undefined;
  #nodeName: Promise<string | undefined> | undefined;
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

  /** The name in the newest record about a node. */
  async findNodeName(): Promise<string | undefined> {
    return await (this.#nodeName ??= this.#lookForNodeName());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#giveBack();
    await this.#closing;
  }

  async #lookForNodeName(): Promise<string | undefined> {
    for (let before = END_KEY; ;) {
      const page = await this.readBefore(before, PAGE);
      for (const [key, text] of page) {
        // Most records are about pods, and need not be decoded for that.
        const name = text.includes('"node":') ? decodeRecord(key, text)?.node : undefined;
        if (name !== undefined) return name;
      }
      if (page.length < PAGE) return undefined;
      before = page.at(-1)![0];
    }
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
    // What was read stays valid, however the store closes.
    if (store !== undefined) this.#closing = store.close().catch(() => undefined);
  }
}
