import { type Clock } from '#base/time/clock.js';

const BEAT_MS = 1_000;

/**
 * When each pod is to be synced again although nothing happened to it: one time per pod, the last one set.
 *
 * It is asked each second, and there are few times, as most are whole seconds, for hundreds of pods: the answer takes a look
 * at each time, never at each pod.
 */
export class RequeueTimes {
  readonly #clock: Clock;
  /** Monotonic milliseconds. */
  readonly #dueAtMs = new Map<string, number>();
  readonly #uidsAt = new Map<number, Set<string>>();
  /** The first of the times; undefined when it is to be looked for. */
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
    const dueAtMs = this.#dueAtMs.get(uid);
    if (dueAtMs === undefined) return;
    this.#dueAtMs.delete(uid);
    const uids = this.#uidsAt.get(dueAtMs)!;
    uids.delete(uid);
    if (uids.size === 0) this.#forgetTime(dueAtMs);
  }

  /** Takes the pods whose time has come, the most overdue first. */
  takeDue(): string[] {
    const now = this.#clock.monotonicMs();
    if (this.#findFirstMs() > now) return [];
    const times = [...this.#uidsAt.keys()]
      .filter((dueAtMs) => dueAtMs <= now)
      .sort((one, other) => one - other);
    return times.flatMap((dueAtMs) => {
      const uids = [...this.#uidsAt.get(dueAtMs)!];
      for (const uid of uids) this.#dueAtMs.delete(uid);
      this.#forgetTime(dueAtMs);
      return uids;
    });
  }

  #setAt(uid: string, dueAtMs: number): void {
    this.delete(uid);
    this.#dueAtMs.set(uid, dueAtMs);
    const uids = this.#uidsAt.get(dueAtMs);
    if (uids === undefined) this.#uidsAt.set(dueAtMs, new Set([uid]));
    else uids.add(uid);
    if (this.#firstMs !== undefined) this.#firstMs = Math.min(this.#firstMs, dueAtMs);
  }

  #forgetTime(dueAtMs: number): void {
    this.#uidsAt.delete(dueAtMs);
    if (dueAtMs === this.#firstMs) this.#firstMs = undefined;
  }

  #findFirstMs(): number {
    if (this.#firstMs === undefined) {
      let firstMs = Infinity;
      // No object for each of them, as an iterator makes in code that runs too seldom to be optimized.
      this.#uidsAt.forEach((_, dueAtMs) => {
        firstMs = Math.min(firstMs, dueAtMs);
      });
      this.#firstMs = firstMs;
    }
    return this.#firstMs;
  }
}
