import { abortable } from '../../util/abortable.js';
import { authAnswerGiven, authFetchEnded, type AuthQuestionKind } from '../../util/auth-channels.js';
import { BusyError } from '../../util/busy-error.js';
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
  /** Whether it lets somebody in; all do unless told. */
  readonly isGood?: (answer: T) => boolean;
  /** Most answers that are kept, of those that are good and of the others; the one that was used least recently goes first. */
  readonly mostKept: number;
  /** Most questions under way at one time, of those whose answer was good and of the others. */
  readonly mostAsked: number;
}

/** How {@link KeptAnswers} get on. */
export interface KeptAnswersStats {
  readonly kept: number;
  /** How many went before their time, for there were too many. */
  readonly folded: number;
  /** Questions that were not asked, or given up, for too many were under way. */
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

/** Who asks what. */
interface Asking {
  readonly key: string;
  readonly asker: string;
  /** The last answer was good. */
  readonly wasGood: boolean;
}

/** A question under way, and how many wait for it. */
interface Question<T> extends Asking {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Answers by what was asked: each is asked for once at a time, and kept for a while.
 *
 * Strangers can ask whatever they make up. So what had a good answer has places of its own, among those kept and among those
 * asked; and where all places are taken, the asker who has most of them gives up his newest question for one who has less.
 */
export class KeptAnswers<T> {
  readonly #options: KeptAnswersOptions<T>;
  /** Those used last stand last. They stay when their time is over: what was good is asked about in a place of its own. */
  readonly #good = new Map<string, KeptAnswer<T>>();
  readonly #others = new Map<string, KeptAnswer<T>>();
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
      kept: this.#good.size + this.#others.size,
      folded: this.#folded,
      refused: this.#refused,
      asked,
      waiting: all - asked,
    };
  }

  /**
   * The answer that is kept, or that of `ask`, which all who want the same share; it is told whether the last answer was good, and
   * its signal aborts when the time is over or nobody waits any more. Rejects as `ask` does, which is not kept, with the signal's reason, and with a {@link BusyError} when
   * there is no room for a question of that `asker`.
   */
  async get(
    key: string,
    ask: (signal: AbortSignal, wasGood: boolean) => Promise<T>,
    signal: AbortSignal,
    asker = '',
  ): Promise<T> {
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
      const asking = { key, asker, wasGood: this.#good.has(key) };
      const answer = await this.#wait(key, this.#asked.get(key) ?? this.#ask(asking, ask), signal);
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
    for (const answers of [this.#good, this.#others]) {
      const kept = answers.get(key);
      if (kept === undefined || this.#options.clock.monotonicMs() >= kept.endsAtMs) continue;
      answers.delete(key);
      answers.set(key, kept);
      return kept;
    }
    return undefined;
  }

  #ask(asking: Asking, ask: (signal: AbortSignal, wasGood: boolean) => Promise<T>): Question<T> {
    const { kind, clock, limitMs, late } = this.#options;
    const { key, wasGood } = asking;
    this.#makeRoom(asking);
    const controller = new AbortController();
    const limits = { clock, limitMs, late, signal: controller.signal };
    const answer = withinTime(limits, async (inner) => ask(inner, wasGood)).then(
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
    const question: Question<T> = { ...asking, answer, controller, waiting: 0 };
    this.#asked.set(key, question);
    return question;
  }

  /** Throws when there is no room and nobody who has so much more of it that he has to give up some. */
  #makeRoom({ asker, wasGood }: Asking): void {
    const { mostAsked } = this.#options;
    const others = [...this.#asked.values()].filter((question) => question.wasGood === wasGood);
    if (others.length < mostAsked) return;
    const byAsker = new Map<string, Question<T>[]>();
    for (const question of others) {
      byAsker.set(question.asker, [...(byAsker.get(question.asker) ?? []), question]);
    }
    const own = byAsker.get(asker)?.length ?? 0;
    const most = [...byAsker.values()].reduce((one, other) => (other.length > one.length ? other : one));
    this.#refused++;
    const busy = new BusyError(`there are ${mostAsked} questions under way already`);
    if (most.length <= own + 1) throw busy;
    const { key, controller } = most.at(-1)!;
    this.#asked.delete(key);
    controller.abort(busy);
  }

  #keep(key: string, answer: T): void {
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
