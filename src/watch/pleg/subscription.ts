import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock, type Stamp } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type PodLifecycleEvent, type Trigger } from './pod-lifecycle-event.js';

/** Counters of a subscription, for metrics. */
export interface SubscriptionStats {
  /** Events waiting to be read, folds included. */
  readonly queued: number;
  /** Events handed to the reader. */
  readonly delivered: number;
  /** Events that were folded into a PodSync or Resync instead of being queued themselves. */
  readonly folded: number;
  /** How often pods had to be folded into one Resync. */
  readonly resyncs: number;
}

/** Options of a subscription. */
export interface SubscriptionOptions {
  readonly clock: Clock;
  /** How many events are queued themselves; as many pods again are queued as folds. */
  readonly capacity: number;
  /** Called once, when the subscription is closed. */
  readonly onClose: (subscription: Subscription) => void;
}

interface Fold {
  readonly pod: PodRef;
  stamp: Stamp;
  trigger: Trigger;
  count: number;
}

/**
 * One reader's events: an async iterable that never loses a pod and never grows beyond its bounds.
 *
 * The events come in the order in which they were made. Once `capacity` of them wait, newer ones fold into
 * one PodSync per pod; once as many pods wait folded, everything newer folds into one Resync. Folds are
 * delivered after the events that were queued before them. As long as one waits, newer events fold too, so
 * that the order is preserved. Reading makes room again.
 *
 * One reader at a time: a second `next()` before the first has an answer is a programming error.
 */
export class Subscription implements AsyncIterable<PodLifecycleEvent>, AsyncDisposable {
  readonly #options: SubscriptionOptions;
  readonly #queue: PodLifecycleEvent[] = [];
  /** Index of the next event in the queue, as shifting a long array costs its length. */
  #head = 0;
  readonly #folds = new Map<string, Fold>();
  #resync: Omit<Fold, 'pod'> | undefined;
  #closed = false;
  #reading = false;
  #waiting: (() => void) | undefined;
  #delivered = 0;
  #folded = 0;
  #resyncs = 0;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** The present counters. */
  get stats(): SubscriptionStats {
    return {
      queued: this.#queue.length - this.#head + this.#folds.size + (this.#resync === undefined ? 0 : 1),
      delivered: this.#delivered,
      folded: this.#folded,
      resyncs: this.#resyncs,
    };
  }

  /** Whether it was closed: the iteration ends after what is queued. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Adds an event; never waits, never rejects, never throws. Called by the generator. */
  push(event: PodLifecycleEvent): void {
    if (this.#closed) return;
    const folding = this.#resync !== undefined || this.#folds.size > 0;
    if (!folding && this.#queue.length - this.#head < this.#options.capacity) this.#queue.push(event);
    else this.#fold(event);
    this.#waiting?.();
  }

  /** The next event if one waits; does not wait for one. */
  take(): PodLifecycleEvent | undefined {
    const event = this.#takeQueued() ?? this.#takeFold() ?? this.#takeResync();
    if (event !== undefined) this.#delivered++;
    return event;
  }

  /** Closes the subscription; what is queued can still be read. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.onClose(this);
    this.#waiting?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PodLifecycleEvent, void, undefined> {
    // Before the `try`: a second reader must not close the first one's subscription.
    if (this.#reading) {
      throw new PodloopError(
        'SUBSCRIPTION_IN_USE',
        'a subscription has one reader; subscribe once per reader',
      );
    }
    this.#reading = true;
    try {
      for (;;) {
        const event = this.take();
        if (event !== undefined) yield event;
        else if (this.#closed) return;
        else await this.#arrival();
      }
    } finally {
      this.#reading = false;
      // Leaving a `for await` early ends the subscription, as it has no other reader.
      this.close();
    }
  }

  async #arrival(): Promise<void> {
    await new Promise<void>((resolve) => (this.#waiting = resolve));
    this.#waiting = undefined;
  }

  #fold(event: PodLifecycleEvent): void {
    this.#folded++;
    const { stamp, trigger } = event;
    if (this.#resync === undefined && 'pod' in event) {
      const fold = this.#folds.get(event.pod.uid);
      if (fold !== undefined) {
        fold.count++;
        fold.stamp = stamp;
        fold.trigger = trigger;
        return;
      }
      if (this.#folds.size < this.#options.capacity) {
        this.#folds.set(event.pod.uid, { pod: event.pod, stamp, trigger, count: 1 });
        return;
      }
    }
    if (this.#resync === undefined) {
      this.#resyncs++;
      this.#resync = { stamp, trigger, count: 1 };
    } else {
      this.#resync.count++;
      this.#resync.stamp = stamp;
    }
  }

  #takeQueued(): PodLifecycleEvent | undefined {
    const event = this.#queue[this.#head];
    if (event === undefined) return undefined;
    this.#head++;
    if (this.#head === this.#queue.length || this.#head > this.#options.capacity) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    return event;
  }

  #takeFold(): PodLifecycleEvent | undefined {
    for (const [uid, fold] of this.#folds) {
      this.#folds.delete(uid);
      return {
        type: 'PodSync',
        pod: fold.pod,
        folded: fold.count,
        trigger: fold.trigger,
        stamp: fold.stamp,
        observedAtMs: this.#options.clock.now(),
      };
    }
    return undefined;
  }

  #takeResync(): PodLifecycleEvent | undefined {
    const resync = this.#resync;
    if (resync === undefined) return undefined;
    this.#resync = undefined;
    return {
      type: 'Resync',
      folded: resync.count,
      trigger: resync.trigger,
      stamp: resync.stamp,
      observedAtMs: this.#options.clock.now(),
    };
  }
}
