import { type Clock } from '#base/time/clock.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { journalWritten } from '#base/channels/journal-channels.js';
import { FIRST_KEY, JournalIds, toKey } from './journal-id.js';
import { isUrgent } from './journal-record.js';
import { type JournalStore, type StoredPair } from './journal-store.js';
import { encodeRecord } from './record-codec.js';
import { type RecordQueue } from './record-queue.js';

/** The ports of a {@link BatchWriter}. */
export interface BatchWriterOptions extends Publisher {
  readonly queue: RecordQueue;
  readonly clock: Clock;
  /** Called when this many bytes were written and can be read. */
  readonly onWritten: (bytes: number) => void;
}

/** Encoding this many takes a few milliseconds, during which the event loop is blocked. */
const MAX_PER_BATCH = 500;
/**
 * While records come, no written record waits longer than this for an fsync.
 *
 * Otherwise the kernel's write-back decides, which by default takes up to 35 s, and the half minute before a
 * power failure is what people want to see.
 */
const MAX_UNSYNCED_MS = 5_000;

/** Assigns ids to records and writes them to a store in batches, each record once. */
export class BatchWriter {
  readonly #options: BatchWriterOptions;
  #ids: JournalIds | undefined;
  /** Encoded but not written yet. A retry uses the same keys, so that no record is stored twice. */
  #batch: { readonly pairs: StoredPair[]; readonly sync: boolean } | undefined;
  #lastKey = FIRST_KEY;
  #written = 0;
  /** When the oldest record without an fsync was written; undefined if there is none. */
  #unsyncedSinceMs: number | undefined;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  /** How many records were written since the start. */
  get written(): number {
    return this.#written;
  }

  /** How many records are waiting. */
  get waiting(): number {
    return this.#options.queue.length + (this.#batch?.pairs.length ?? 0);
  }

  /** The key of the newest record that can be read. */
  get lastKey(): string {
    return this.#lastKey;
  }

  /** Continues after the newest record of an opened store; undefined if it has none. */
  goOnBehind(last: string | undefined): void {
    // A new store in place of a damaged one continues the ids, too.
    this.#ids ??= new JournalIds(last);
    if (last !== undefined) this.#lastKey = toKey(last);
  }

  /** Writes all waiting records. Rejects with the store's error; no record is lost then. */
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
      publishTo(this.#options.channels, journalWritten, {
        records: pairs.length,
        bytes,
        durationMs,
        queued,
        error: undefined,
      });
      onWritten(bytes);
    }
  }

  #encodeNext(): { pairs: StoredPair[]; sync: boolean } | undefined {
    const records = this.#options.queue.take(MAX_PER_BATCH);
    if (records.length === 0) return undefined;
    const pairs = records.map((record): StoredPair => {
      const key = toKey(this.#ids!.next(record.atMs));
      return [key, encodeRecord(key, record)];
    });
    return { pairs, sync: records.some(isUrgent) };
  }
}
