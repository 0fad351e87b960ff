/**
 * Keeps what happens again and again from filling an API server, by client-go's rules.
 *
 * 1. Of ten different messages with the same object, type and reason, each within ten minutes of the one before, the tenth
 *    and what follows are one event: "(combined from similar events): …" with the newest message.
 * 2. The same event is made once, and counted.
 * 3. Of one object so many are written: 25 at first, and one each five minutes. What is left out is counted all the same,
 *    and reported with the next one.
 *
 * Source: https://github.com/kubernetes/client-go/blob/master/tools/record/events_cache.go
 *
 * @module
 */
import { RecentMap } from '#base/async/recent-keys.js';
import { type Clock } from '#base/time/clock.js';
import { type CountedEvent, eventName, type EventObject, type ToldEvent } from './kube-event.js';

/** An event that is to be written, and what it is counted by. */
export interface CorrelatedEvent {
  readonly key: string;
  readonly event: CountedEvent;
  /** Shared by all events of the key. */
  readonly record: EventRecord;
}

/** What is remembered of an event. */
export interface EventRecord {
  readonly name: string;
  readonly firstAtMs: number;
  count: number;
  /** The API server has it under this name, for all we know. */
  isStored: boolean;
}

interface SimilarEvents {
  readonly messages: Set<string>;
  lastAtMs: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** client-go's. */
const CAPACITY = 4_096;
const MAX_SIMILAR = 10;
const SIMILAR_WITHIN_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;

/** See the module. */
export class EventCorrelator {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly #similar = new RecentMap<string, SimilarEvents>({ maxKeys: CAPACITY });
  readonly #records = new RecentMap<string, EventRecord>({ maxKeys: CAPACITY });
  readonly #buckets = new RecentMap<string, Bucket>({ maxKeys: CAPACITY });
  #lastNumber = 0n;
  #combined = 0;
  #filtered = 0;

  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Events that went into one with others. */
  get combined(): number {
    return this.#combined;
  }

  /** Events that were counted and left out, because their object has too many. */
  get filtered(): number {
    return this.#filtered;
  }

  /** What is to be written of it; undefined when that is nothing. */
  correlate(told: ToldEvent): CorrelatedEvent | undefined {
    const [event, key] = this.#combine(told);
    const nowMs = this.#clock.now();
    const record = this.#records.take(key, () => ({
      name: eventName(event.object, this.#nextNumber(nowMs)),
      ...{ firstAtMs: nowMs, count: 0, isStored: false },
    }));
    record.count++;
    if (!this.#hasTurn(event.object)) {
      this.#filtered++;
      return undefined;
    }
    const { name, firstAtMs, count } = record;
    return { key, record, event: { ...event, name, firstAtMs, count, lastAtMs: nowMs } };
  }

  #combine(told: ToldEvent): [ToldEvent, string] {
    const { object, type, reason, message } = told;
    const similarKey = JSON.stringify([...keyOf(object), type, reason]);
    const nowMs = this.#clock.monotonicMs();
    const similar = this.#similar.take(similarKey, () => ({ messages: new Set(), lastAtMs: nowMs }));
    if (nowMs - similar.lastAtMs > SIMILAR_WITHIN_MS) similar.messages.clear();
    similar.lastAtMs = nowMs;
    similar.messages.add(message);
    if (similar.messages.size < MAX_SIMILAR) {
      return [told, JSON.stringify([...keyOf(object), object.fieldPath, type, reason, message])];
    }
    const [oldest] = similar.messages;
    similar.messages.delete(oldest!);
    this.#combined++;
    return [{ ...told, message: `(combined from similar events): ${message}` }, similarKey];
  }

  #hasTurn(object: EventObject): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.take(JSON.stringify(keyOf(object)), () => ({
      ...{ tokens: BURST, filledAtMs: nowMs },
    }));
    bucket.tokens = Math.min(BURST, bucket.tokens + (nowMs - bucket.filledAtMs) / REFILL_MS);
    bucket.filledAtMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }

  /** Nanoseconds since the epoch, as other events have them; never the same twice. */
  #nextNumber(nowMs: number): bigint {
    const number = BigInt(Math.trunc(nowMs * 1_000)) * 1_000n;
    this.#lastNumber = number > this.#lastNumber ? number : this.#lastNumber + 1n;
    return this.#lastNumber;
  }
}

function keyOf({ kind, namespace = '', name, uid }: EventObject): string[] {
  return [kind, namespace, name, uid];
}
