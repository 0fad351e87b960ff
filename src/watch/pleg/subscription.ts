import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock, type Stamp } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type PodLifecycleEvent, type Trigger } from './events.js';

/** What a subscription has been through, for metrics. */
export interface SubscriptionStats {
  /** Events waiting to be read, folds included. */
  readonly queued: number;
  /** Events handed to the reader. */
  readonly delivered: number;
  /** Events that were folded into a PodSync or Resync instead of standing in the queue themselves. */
  readonly folded: number;
  /** How often pods had to be folded into one Resync. */
  readonly resyncs: number;
}

/** Needed to make a subscription. */
export interface SubscriptionOptions {
  readonly clock: Clock;
  /** Events kept as they are; as many pods again are kept folded. */
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
 * One reader's events: an async iterable that never loses a pod and never grows past its bounds.
 *
 * The events come in the order in which they were made. Once `capacity` of them wait, newer ones fold into one
 * PodSync per pod; once as many pods wait folded, everything newer folds into one Resync. Folds are handed out
 * after the events that were there before them, and as long as one waits, newer events fold too, so that the
 * order holds. Reading makes room again.
 *
 * One reader at a time: a second `next()` before the first has an answer is an error of the program.
 */
export class Subscription implements AsyncIterable<PodLifecycleEvent>, AsyncDisposable {
  readonly #options: SubscriptionOptions;
  readonly #queue: PodLifecycleEvent[] = [];
  /** Index of the next event in the queue: shifting a long array costs its length. */
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

  /** Counters as of now. */
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

  /** Takes an event in; never waits, never refuses, never throws. Called by the generator. */
  push(event: PodLifecycleEvent): void {
    if (this.#closed) return;
    const folding = this.#resync !== undefined || this.#folds.size > 0;
    if (!folding && this.#queue.length - this.#head < this.#options.capacity) this.#queue.push(event);
    else this.#fold(event);
    this.#waiting?.();
  }

  /** The next event if one waits, without waiting for one. */
  take(): PodLifecycleEvent | undefined {
    const event = this.#takeQueued() ?? this.#takeFold() ?? this.#takeResync();
    if (event !== undefined) this.#delivered++;
    return event;
  }

  /** Ends the subscription; what is queued can still be read. Idempotent. */
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
    // Before the `try`: who comes second must not close what the first one reads.
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
      // Leaving a `for await` early ends the subscription: nobody else reads it.
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
