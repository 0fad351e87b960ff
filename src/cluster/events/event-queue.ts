import { type Clock } from '#base/time/clock.js';
import { type CorrelatedEvent } from './event-correlator.js';
import { eventNamespace } from './kube-event.js';

/** An event that waits, and how often the API server has failed at it. */
export interface WaitingEvent {
  readonly event: CorrelatedEvent;
  readonly failures: number;
}

/** What {@link EventQueue} needs. */
export interface EventQueueOptions {
  /** How many different events wait at most. */
  readonly capacity: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** A number in [0, 1). */
  readonly random: () => number;
}

interface Rest {
  readonly untilMs: number;
  readonly lastedMs: number;
}

const FIRST_REST_MS = 10_000;
const MAX_REST_MS = 60_000;

/**
 * Events in the order in which they were emitted; a repeated one keeps its place while it waits.
 *
 * A namespace at which the API server fails rests: its events wait and those of others go before them. One event finds out when
 * the rest is over, so that many of an ill namespace cost no more than one.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  readonly #waiting = new Map<string, WaitingEvent>();
  readonly #rests = new Map<string, Rest>();
  #folded = 0;
  #overflowed = 0;

  constructor(options: EventQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Events that were repeated while they waited. */
  get folded(): number {
    return this.#folded;
  }

  /** Events that went for newer ones, the oldest first. */
  get overflowed(): number {
    return this.#overflowed;
  }

  push(event: CorrelatedEvent): void {
    const before = this.#waiting.get(event.key);
    if (before !== undefined) this.#folded++;
    this.#add({ event, failures: before?.failures ?? 0 });
  }

  /** For how long there is nothing to be taken, in milliseconds; undefined when that is until an event is emitted. */
  restMs(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    let shortestMs: number | undefined;
    for (const { event } of this.#waiting.values()) {
      const leftMs = this.#restOf(event, nowMs);
      if (leftMs === 0) return 0;
      shortestMs = Math.min(shortestMs ?? leftMs, leftMs);
    }
    return shortestMs;
  }

  /** Takes out the first whose namespace does not rest. */
  take(): WaitingEvent | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, waiting] of this.#waiting) {
      if (this.#restOf(waiting.event, nowMs) > 0) continue;
      this.#waiting.delete(key);
      return waiting;
    }
    return undefined;
  }

  /** Takes out the repetitions of an event since it was taken out; returns the event itself if there are none. */
  takeNewer(event: CorrelatedEvent): CorrelatedEvent {
    const newer = this.#waiting.get(event.key)?.event ?? event;
    this.#waiting.delete(event.key);
    return newer;
  }

  /** The API server has failed at an event that was taken out: it goes behind all others. */
  putBehind(event: CorrelatedEvent, failures: number): void {
    this.#add({ event: this.takeNewer(event), failures });
  }

  /** The API server has failed at an event: its namespace rests, the longer the more often that is in a row. */
  rest({ event: { object } }: CorrelatedEvent): void {
    const { clock, random } = this.#options;
    const nowMs = clock.monotonicMs();
    const namespace = eventNamespace(object);
    const before = this.#rests.get(namespace)?.lastedMs ?? 0;
    const lastedMs = Math.min(Math.max(FIRST_REST_MS, before * 2), MAX_REST_MS);
    // By chance, so that not all nodes come at once.
    this.#rests.set(namespace, { lastedMs, untilMs: nowMs + lastedMs * (0.5 + random() / 2) });
    for (const [other, { untilMs }] of this.#rests) {
      if (untilMs + MAX_REST_MS < nowMs) this.#rests.delete(other);
    }
  }

  /** The API server takes events of that namespace. */
  endRest({ event: { object } }: CorrelatedEvent): void {
    this.#rests.delete(eventNamespace(object));
  }

  /** Nothing rests any more. */
  endAllRests(): void {
    this.#rests.clear();
  }

  #add(waiting: WaitingEvent): void {
    this.#waiting.set(waiting.event.key, waiting);
    if (this.#waiting.size <= this.#options.capacity) return;
    const [oldest] = this.#waiting.keys();
    this.#waiting.delete(oldest!);
    this.#overflowed++;
  }

  #restOf({ event: { object } }: CorrelatedEvent, nowMs: number): number {
    if (this.#rests.size === 0) return 0;
    const { untilMs = nowMs } = this.#rests.get(eventNamespace(object)) ?? {};
    return Math.max(0, untilMs - nowMs);
  }
}
