import { abortable } from '../../util/abortable.js';
import { type Clock } from '../../util/clock.js';
import { withinTime } from '../../util/within-time.js';

/** What {@link KeptAnswers} work with. */
export interface KeptAnswersOptions<T> {
  readonly clock: Clock;
  /** How long an answer is good for, in milliseconds; not kept when that is 0. */
  readonly ttlMsOf: (answer: T) => number;
  /** How long a question may take with all its tries, in milliseconds. */
  readonly limitMs: number;
  /** What it ends with then. */
  readonly late: () => Error;
  /** Most answers that are kept; the one that was used least recently goes first. */
  readonly mostKept: number;
  /** Most questions under way at one time; others are refused. */
  readonly mostAsked: number;
}

interface KeptAnswer<T> {
  readonly answer: T;
  readonly endsAtMs: number;
}

/** A question under way, and how many wait for it. */
interface Question<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** Answers by what was asked: each is asked for once at a time, and kept for a while. */
export class KeptAnswers<T> {
  readonly #options: KeptAnswersOptions<T>;
  /** Those used last stand last. */
  readonly #kept = new Map<string, KeptAnswer<T>>();
  readonly #asked = new Map<string, Question<T>>();
  #folded = 0;
  #refused = 0;

  constructor(options: KeptAnswersOptions<T>) {
    this.#options = options;
  }

  /** How many are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** How many went before their time, for there were too many. */
  get folded(): number {
    return this.#folded;
  }

  /** How many questions were not asked, for too many were under way. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * The answer that is kept, or that of `ask`, which all who want the same share; its signal aborts when the time is over or
   * nobody waits any more. Rejects as `ask` does, which is not kept, and with the signal's reason.
   */
  async get(key: string, ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const kept = this.#find(key);
    if (kept !== undefined) return kept.answer;
    const question = this.#asked.get(key) ?? this.#ask(key, ask);
    question.waiting++;
    try {
      return await abortable(question.answer, signal);
    } finally {
      question.waiting--;
      if (question.waiting === 0) {
        question.controller.abort(new DOMException('nobody waits for the answer', 'AbortError'));
        // Who comes now must not get the end of it.
        if (this.#asked.get(key) === question) this.#asked.delete(key);
      }
    }
  }

  #find(key: string): KeptAnswer<T> | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    if (this.#options.clock.monotonicMs() >= kept.endsAtMs) return undefined;
    this.#kept.set(key, kept);
    return kept;
  }

  #ask(key: string, ask: (signal: AbortSignal) => Promise<T>): Question<T> {
    const { clock, limitMs, late, mostAsked } = this.#options;
    if (this.#asked.size >= mostAsked) {
      this.#refused++;
      throw new Error(`there are ${mostAsked} questions under way already`);
    }
    const controller = new AbortController();
    const limits = { clock, limitMs, late, signal: controller.signal };
    const answer = withinTime(limits, ask).then((found) => {
      if (this.#asked.get(key) === question) this.#keep(key, found);
      return found;
    });
    const question: Question<T> = { answer, controller, waiting: 0 };
    this.#asked.set(key, question);
    return question;
  }

  #keep(key: string, answer: T): void {
    const { clock, ttlMsOf, mostKept } = this.#options;
    const ttlMs = ttlMsOf(answer);
    if (ttlMs <= 0) return;
    this.#kept.set(key, { answer, endsAtMs: clock.monotonicMs() + ttlMs });
    if (this.#kept.size <= mostKept) return;
    for (const [oldest] of this.#kept) {
      this.#kept.delete(oldest);
      this.#folded++;
      break;
    }
  }
}
