import { type Clock } from '#base/time/clock.js';

/** What {@link AnswerStore} works with. */
export interface AnswerStoreOptions<T> {
  readonly clock: Clock;
  /** How long an answer is good for, in milliseconds; not kept when that is 0. */
  readonly ttlMsOf: (answer: T) => number;
  /** Whether it lets somebody in (default: all do). */
  readonly isGood?: (answer: T) => boolean;
  /** Most answers that are kept, of those that are good and of the others; the one that was used least recently goes first. */
  readonly mostKept: number;
}

/** How {@link AnswerStore} gets on. */
export interface AnswerStoreStats {
  readonly kept: number;
  /** How many went before their time, for there were too many. */
  readonly folded: number;
}

interface KeptAnswer<T> {
  readonly answer: T;
  readonly endsAtMs: number;
}

/** Answers by what was asked, for a while. Those that were good have places of their own, as strangers can ask whatever they make up. */
export class AnswerStore<T> {
  readonly #options: AnswerStoreOptions<T>;
  /** Those used last stand last. They stay when their time is over: what was good is asked about in a place of its own. */
  readonly #good = new Map<string, KeptAnswer<T>>();
  readonly #others = new Map<string, KeptAnswer<T>>();
  #folded = 0;

  constructor(options: AnswerStoreOptions<T>) {
    this.#options = options;
  }

  /** As of now. */
  get stats(): AnswerStoreStats {
    return { kept: this.#good.size + this.#others.size, folded: this.#folded };
  }

  /** The last answer, unless its time is over. */
  find(key: string): T | undefined {
    for (const answers of [this.#good, this.#others]) {
      const kept = answers.get(key);
      if (kept === undefined || this.#options.clock.monotonicMs() >= kept.endsAtMs) continue;
      answers.delete(key);
      answers.set(key, kept);
      return kept.answer;
    }
    return undefined;
  }

  /** Whether the last answer was good, also where its time is over. */
  wasGood(key: string): boolean {
    return this.#good.has(key);
  }

  /** In place of the one before. */
  keep(key: string, answer: T): void {
    const { clock, ttlMsOf, mostKept, isGood = () => true } = this.#options;
    this.#good.delete(key);
    this.#others.delete(key);
    const ttlMs = ttlMsOf(answer);
    if (ttlMs <= 0) return;
    const answers = isGood(answer) ? this.#good : this.#others;
    answers.set(key, { answer, endsAtMs: clock.monotonicMs() + ttlMs });
    if (answers.size <= mostKept) return;
    const [oldest] = answers.keys();
    answers.delete(oldest!);
    this.#folded++;
  }
}
