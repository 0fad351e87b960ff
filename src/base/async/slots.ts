/**
 * Bounded concurrency: a number of slots, and a line of those that wait for one.
 *
 * ```
 * waiting ──► inside ──► ended
 *    │          └──► outside ──► ended     only with `leave`
 *    └── its signal aborts
 * ```
 *
 * In: work that may hang, with a key that decides about its turn. Out: the same work, a few at a time. A slot
 * is handed to the next in line when it becomes free, so nobody who comes in between is first. With `leave`,
 * work that takes long continues outside and frees its slot without being cancelled, so that a few that hang
 * slow the others down only for a moment.
 *
 * @module
 */
import { type Clock } from '../time/clock.js';
import { RankLine, type SlotLine, type SlotWaiter } from './slot-line.js';

/** Options of {@link Slots}. */
export interface SlotsOptions<Key> {
  /** Maximum inside at a time; a function is called each time. */
  readonly limit: number | (() => number);
  /** The order of those that wait (default: first come, first served). */
  readonly line?: SlotLine<Key>;
  /** When work continues outside (default: never). */
  readonly leave?: LeaveOptions | undefined;
}

/** When work leaves its slot and continues outside. */
export interface LeaveOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** After this time, in milliseconds, and again after it as long as outside is full. */
  readonly afterMs: number;
  /** Maximum outside at a time; others stay inside. */
  readonly maxOutside: number;
}

/** The present use of {@link Slots}. */
export interface SlotsFacts {
  readonly limit: number;
  readonly waiting: number;
  /** Under way with a slot. */
  readonly inside: number;
  /** Under way for so long that their slots went to others. */
  readonly outside: number;
}

/** Frees a slot. Calling it twice does nothing. */
export type ReleaseSlot = () => void;

interface Waiter<Key> extends SlotWaiter<Key> {
  readonly begin: () => void;
}

/** See the module. */
export class Slots<Key = undefined> {
  readonly #limit: () => number;
  readonly #line: SlotLine<Key>;
  readonly #leave: LeaveOptions | undefined;
  readonly #inside = new Set<SlotWaiter<Key>>();
  #outside = 0;

  constructor({ limit, line = new RankLine(() => 0), leave }: SlotsOptions<Key>) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
    this.#line = line;
    this.#leave = leave;
  }

  get facts(): SlotsFacts {
    const [inside, outside] = [this.#inside.size, this.#outside];
    return { limit: this.#limit(), waiting: this.#line.size, inside, outside };
  }

  /** The keys of those inside. */
  get insideKeys(): Key[] {
    return [...this.#keys()];
  }

  /**
   * Runs `work` once there is a slot, and settles as it does. The signal only ends the wait for the slot.
   *
   * This then rejects with the signal's reason, and `work` is never called.
   */
  async run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.take(key, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves once the caller has a slot; rejects with the signal's reason if it aborts before. */
  async take(key: Key, signal?: AbortSignal): Promise<ReleaseSlot> {
    signal?.throwIfAborted();
    return await new Promise<ReleaseSlot>((resolve, reject) => {
      const giveUp = (): void => {
        this.#line.delete(waiter);
        reject(signal?.reason as Error);
        // Others may have waited only for this one.
        this.#admit();
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(this.#occupy(waiter));
      };
      const waiter: Waiter<Key> = { key, begin };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#line.add(waiter);
      this.#admit();
    });
  }

  *#keys(): Iterable<Key> {
    for (const { key } of this.#inside) yield key;
  }

  #admit(): void {
    while (this.#line.size > 0 && this.#inside.size < this.#limit()) {
      const next = this.#line.shift(this.#keys()) as Waiter<Key> | undefined;
      if (next === undefined) return;
      this.#inside.add(next);
      next.begin();
    }
  }

  /** The slot is already counted. */
  #occupy(waiter: Waiter<Key>): ReleaseSlot {
    let isOutside = false;
    const leave = (): void => {
      if (this.#outside >= this.#leave!.maxOutside) {
        timer = this.#setTimer(leave);
        return;
      }
      isOutside = true;
      this.#outside++;
      this.#inside.delete(waiter);
      this.#admit();
    };
    let timer = this.#setTimer(leave);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      timer?.cancel();
      if (isOutside) this.#outside--;
      else this.#inside.delete(waiter);
      this.#admit();
    };
  }

  #setTimer(leave: () => void): { cancel(): void } | undefined {
    return this.#leave?.clock.setTimer(this.#leave.afterMs, leave, { unref: true });
  }
}
