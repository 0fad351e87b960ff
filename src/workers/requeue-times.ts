import { type Clock } from '../util/clock.js';

const BEAT_MS = 1_000;

/**
 * When each pod is to be synced again although nothing happened to it: one time per pod, the last one set.
 *
 * It is asked each second, and seldom is a pod due: the first time of all is kept, so that the answer takes no look at each.
 */
export class RequeueTimes {
  readonly #clock: Clock;
  /** Monotonic milliseconds. */
  readonly #dueAtMs = new Map<string, number>();
  /** The first of them; undefined when it is to be looked for. */
  #firstMs: number | undefined = Infinity;

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  get size(): number {
    return this.#dueAtMs.size;
  }

  /** In how many milliseconds the first pod is due; undefined when no time is set. */
  get nextInMs(): number | undefined {
    const firstMs = this.#findFirstMs();
    return firstMs === Infinity ? undefined : Math.max(0, firstMs - this.#clock.monotonicMs());
  }

  set(uid: string, afterMs: number): void {
    this.#setAt(uid, this.#clock.monotonicMs() + afterMs);
  }

  /** The same at the next whole second, for what is in no hurry: so that pods come together, and wake the node seldom. */
  setAbout(uid: string, afterMs: number): void {
    const dueAtMs = this.#clock.monotonicMs() + afterMs;
    this.#setAt(uid, Math.ceil(dueAtMs / BEAT_MS) * BEAT_MS);
  }

  delete(uid: string): void {
    if (this.#dueAtMs.get(uid) === this.#firstMs) this.#firstMs = undefined;
    this.#dueAtMs.delete(uid);
  }

  /** Takes the pods whose time has come, the most overdue first. */
  takeDue(): string[] {
    const now = this.#clock.monotonicMs();
    if (this.#findFirstMs() > now) return [];
    const due: (readonly [uid: string, dueAtMs: number])[] = [];
    // Without an array for each of the pods that are not due, which are nearly all.
    this.#dueAtMs.forEach((dueAtMs, uid) => {
      if (dueAtMs <= now) due.push([uid, dueAtMs]);
    });
    for (const [uid] of due) this.delete(uid);
    return due.sort(([, one], [, other]) => one - other).map(([uid]) => uid);
  }

  #setAt(uid: string, dueAtMs: number): void {
    this.delete(uid);
    this.#dueAtMs.set(uid, dueAtMs);
    if (this.#firstMs !== undefined) this.#firstMs = Math.min(this.#firstMs, dueAtMs);
  }

  #findFirstMs(): number {
    if (this.#firstMs === undefined) {
      let firstMs = Infinity;
      for (const dueAtMs of this.#dueAtMs.values()) firstMs = Math.min(firstMs, dueAtMs);
      this.#firstMs = firstMs;
    }
    return this.#firstMs;
  }
}
