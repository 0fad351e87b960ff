import { type Clock } from '#base/time/clock.js';
import { journalWritten } from '#base/channels/journal-channels.js';
import { FIRST_KEY, JournalIds, toKey } from './journal-id.js';
import { isUrgent } from './journal-record.js';
import { type JournalStore, type StoredPair } from './journal-store.js';
import { encodeRecord } from './record-codec.js';
import { type RecordQueue } from './record-queue.js';

/** What a {@link BatchWriter} needs. */
export interface BatchWriterOptions {
  readonly queue: RecordQueue;
  readonly clock: Clock;
  /** So many bytes are written, and can be read. */
  readonly onWritten: (bytes: number) => void;
}

/** Encoding them takes a few milliseconds, in which nobody else has a turn. */
const MOST_PER_BATCH = 500;
/**
 * While records come, no written record waits longer than this for an fsync. Without it the kernel's write-back decides, which
 * by default takes up to 35 s: the half minute before a power cut is the one that people ask for.
 */
const MAX_UNSYNCED_MS = 5_000;

/** Gives records their ids and brings them to a store, batch by batch, each of them once. */
export class BatchWriter {
  readonly #options: BatchWriterOptions;
  #ids: JournalIds | undefined;
  /** Encoded and not written yet: under the same keys when it is tried again, so that nothing is there twice. */
  #batch: { readonly pairs: StoredPair[]; readonly sync: boolean } | undefined;
  #lastKey = FIRST_KEY;
  #written = 0;
  /** When the oldest record was written that no fsync has covered; undefined when there is none. */
  #unsyncedSinceMs: number | undefined;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  /** How many were written since the start. */
  get written(): number {
    return this.#written;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#options.queue.length + (this.#batch?.pairs.length ?? 0);
  }

  /** Of the newest record that can be read. */
  get lastKey(): string {
    return this.#lastKey;
  }

  /** Goes on behind the newest record of a store that was opened; undefined when it has none. */
  goOnBehind(last: string | undefined): void {
    // A new store in the place of a damaged one goes on with the ids, too.
    this.#ids ??= new JournalIds(last);
    if (last !== undefined) this.#lastKey = toKey(last);
  }

  /** Writes all that waits. Rejects as the store does; nothing of it is lost then. */
  async writeAll(store: JournalStore): Promise<void> {
    const { queue, clock, onWritten } = this.#options;
    for (;;) {
      this.#batch ??= this.#encodeNext();
      if (this.#batch === undefined) return;
      const startedAtMs = clock.monotonicMs();
      const unsyncedSinceMs = this.#unsyncedSinceMs ?? startedAtMs;
      const { pairs } = this.#batch;
      const sync = this.#batch.sync || startedAtMs - unsyncedSinceMs >= MAX_UNSYNCED_MS;
      await store.write(pairs, sync);
      this.#batch = undefined;
      this.#unsyncedSinceMs = sync ? undefined : unsyncedSinceMs;
      this.#lastKey = pairs.at(-1)![0];
      this.#written += pairs.length;
      const bytes = pairs.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
      const durationMs = clock.monotonicMs() - startedAtMs;
      const { length: queued } = queue;
      journalWritten.publish({ records: pairs.length, bytes, durationMs, queued, error: undefined });
      onWritten(bytes);
    }
  }

  #encodeNext(): { pairs: StoredPair[]; sync: boolean } | undefined {
    const records = this.#options.queue.take(MOST_PER_BATCH);
    if (records.length === 0) return undefined;
    const pairs = records.map((record): StoredPair => {
      const key = toKey(this.#ids!.next(record.atMs));
      return [key, encodeRecord(key, record)];
    });
    return { pairs, sync: records.some(isUrgent) };
  }
}
