import { abortable } from '../../util/abortable.js';
import { authAnswerGiven, authFetchEnded, type AuthQuestionKind } from '../../util/auth-channels.js';
import { type Clock } from '../../util/clock.js';
import { withinTime } from '../../util/within-time.js';

/** What {@link KeptAnswers} work with. */
export interface KeptAnswersOptions<T> {
  /** As what it is counted. */
  readonly kind: AuthQuestionKind;
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

/** How {@link KeptAnswers} get on. */
export interface KeptAnswersStats {
  readonly kept: number;
  /** How many went before their time, for there were too many. */
  readonly folded: number;
  /** Questions that were not asked, for too many were under way. */
  readonly refused: number;
  /** Questions under way. */
  readonly asked: number;
  /** How many wait for the answer to a question that somebody else has asked. */
  readonly waiting: number;
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

  /** As of now. */
  get stats(): KeptAnswersStats {
    const asked = this.#asked.size;
    const all = [...this.#asked.values()].reduce((sum, { waiting }) => sum + waiting, 0);
    return {
      kept: this.#kept.size,
      folded: this.#folded,
      refused: this.#refused,
      asked,
      waiting: all - asked,
    };
  }

  /**
   * The answer that is kept, or that of `ask`, which all who want the same share; its signal aborts when the time is over or
   * nobody waits any more. Rejects as `ask` does, which is not kept, and with the signal's reason.
   */
  async get(key: string, ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const { clock, kind } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const tell = (wasKept: boolean, failed: boolean): void =>
      authAnswerGiven.publish({ kind, wasKept, failed, durationMs: clock.monotonicMs() - startedAtMs });
    const kept = this.#find(key);
    if (kept !== undefined) {
      tell(true, false);
      return kept.answer;
    }
    try {
      const answer = await this.#wait(key, this.#asked.get(key) ?? this.#ask(key, ask), signal);
      tell(false, false);
      return answer;
    } catch (error) {
      tell(false, true);
      throw error;
    }
  }

  async #wait(key: string, question: Question<T>, signal: AbortSignal): Promise<T> {
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
    const { kind, clock, limitMs, late, mostAsked } = this.#options;
    if (this.#asked.size >= mostAsked) {
      this.#refused++;
      throw new Error(`there are ${mostAsked} questions under way already`);
    }
    const controller = new AbortController();
    const limits = { clock, limitMs, late, signal: controller.signal };
    const answer = withinTime(limits, ask).then(
      (found) => {
        authFetchEnded.publish({ kind, failed: false });
        if (this.#asked.get(key) === question) this.#keep(key, found);
        return found;
      },
      (error: unknown) => {
        authFetchEnded.publish({ kind, failed: true });
        throw error;
      },
    );
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
