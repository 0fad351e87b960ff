import { type Clock } from '../util/clock.js';

const BEAT_MS = 1_000;

/** When each pod is to be synced again although nothing happened to it: one time per pod, the last one set. */
export class RequeueTimes {
  readonly #clock: Clock;
  /** Monotonic milliseconds. */
  readonly #dueAtMs = new Map<string, number>();

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  get size(): number {
    return this.#dueAtMs.size;
  }

  /** In how many milliseconds the first pod is due; undefined when no time is set. */
  get nextInMs(): number | undefined {
    let next = Infinity;
    for (const dueAtMs of this.#dueAtMs.values()) next = Math.min(next, dueAtMs);
    return next === Infinity ? undefined : Math.max(0, next - this.#clock.monotonicMs());
  }

  set(uid: string, afterMs: number): void {
    this.#dueAtMs.set(uid, this.#clock.monotonicMs() + afterMs);
  }

  /** The same at the next whole second, for what is in no hurry: so that pods come together, and wake the node seldom. */
  setAbout(uid: string, afterMs: number): void {
    const dueAtMs = this.#clock.monotonicMs() + afterMs;
    this.#dueAtMs.set(uid, Math.ceil(dueAtMs / BEAT_MS) * BEAT_MS);
  }

  delete(uid: string): void {
    this.#dueAtMs.delete(uid);
  }

  /** Takes the pods whose time has come, the most overdue first. */
  takeDue(): string[] {
    const now = this.#clock.monotonicMs();
    const due: (readonly [uid: string, dueAtMs: number])[] = [];
    for (const [uid, dueAtMs] of this.#dueAtMs) if (dueAtMs <= now) due.push([uid, dueAtMs]);
    for (const [uid] of due) this.#dueAtMs.delete(uid);
    return due.sort(([, one], [, other]) => one - other).map(([uid]) => uid);
  }
}
