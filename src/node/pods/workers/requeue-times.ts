import { type Clock } from '#base/time/clock.js';

const BEAT_MS = 1_000;

/**
 * When to sync each pod again if nothing happens to it: one time per pod, the last one set.
 *
 * It is read every second. Most times are whole seconds, so that hundreds of pods share a few of them; a read
 * visits each time, never each pod.
 */
export class RequeueTimes {
  readonly #clock: Clock;
  /** Monotonic milliseconds. */
  readonly #dueAtMs = new Map<string, number>();
  readonly #uidsAt = new Map<number, Set<string>>();
  /** The earliest time; undefined when it has to be computed. */
  #firstMs: number | undefined = Infinity;

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  get size(): number {
    return this.#dueAtMs.size;
  }

  /** Milliseconds until the first pod is due; undefined when no time is set. */
  get nextInMs(): number | undefined {
    const firstMs = this.#findFirstMs();
    return firstMs === Infinity ? undefined : Math.max(0, firstMs - this.#clock.monotonicMs());
  }

  set(uid: string, afterMs: number): void {
    this.#setAt(uid, this.#clock.monotonicMs() + afterMs);
  }

  /**
   * Sets a time at the next whole second, for work without hurry: pods then come together and wake the node
   * seldom.
   */
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

  /** Takes the due pods, the most overdue first. */
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
      // Creates no object per entry, as an iterator does in code that runs too seldom to be optimized.
      this.#uidsAt.forEach((_, dueAtMs) => {
        firstMs = Math.min(firstMs, dueAtMs);
      });
      this.#firstMs = firstMs;
    }
    return this.#firstMs;
  }
}
