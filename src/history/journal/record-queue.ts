import { type JournalRecord } from './journal-record.js';

/** Longer messages are cut on arrival, so that the queue is bounded in bytes too. */
const MAX_MESSAGE_LENGTH = 4_096;

interface Gap {
  count: number;
  readonly firstAtMs: number;
  lastAtMs: number;
}

/**
 * Records waiting for the disk, in order.
 *
 * When it is full, further records are counted and dropped, and a record in their place reports that. The
 * first records about a problem are worth more than those about its consequences.
 */
export class RecordQueue {
  readonly #capacity: number;
  readonly #nodeName: string;
  #records: JournalRecord[] = [];
  #gap: Gap | undefined;
  #dropped = 0;

  constructor(capacity: number, nodeName: string) {
    this.#capacity = capacity;
    this.#nodeName = nodeName;
  }

  get length(): number {
    return this.#records.length;
  }

  /** How many records were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds a record. Never waits, never throws. */
  push(record: JournalRecord): void {
    if (this.#gap === undefined && this.#records.length < this.#capacity) {
      const { message } = record;
      const isLong = message.length > MAX_MESSAGE_LENGTH;
      this.#records.push(
        isLong ? { ...record, message: `${message.slice(0, MAX_MESSAGE_LENGTH)}…` } : record,
      );
      return;
    }
    this.#dropped++;
    this.#gap ??= { count: 0, firstAtMs: record.atMs, lastAtMs: record.atMs };
    this.#gap.count++;
    this.#gap.lastAtMs = record.atMs;
  }

  /** Takes up to `limit` records, the oldest first. */
  take(limit: number): JournalRecord[] {
    const taken = this.#records.splice(0, limit);
    const gap = this.#gap;
    if (gap !== undefined && taken.length > 0) {
      this.#gap = undefined;
      this.#records.push({ ...describeGap(gap), node: this.#nodeName });
    }
    return taken;
  }
}

function describeGap({ count, firstAtMs, lastAtMs }: Gap): JournalRecord {
  const times = `from ${new Date(firstAtMs).toISOString()} to ${new Date(lastAtMs).toISOString()}`;
  return {
    ...{ atMs: lastAtMs, kind: 'journal', type: 'Warning', reason: 'RecordsDropped' },
    message: `${count} records ${times} were lost: they came faster than the disk could write them`,
    ...{ count, firstAtMs },
  };
}
