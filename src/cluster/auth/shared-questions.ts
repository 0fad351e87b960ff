import { abortable } from '#base/async/abortable.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { authFetchEnded, type AuthQuestionKind } from '#base/channels/auth-channels.js';
import { BusyError } from '#base/errors/busy-error.js';
import { type Clock } from '#base/time/clock.js';
import { withinTime } from '#base/async/within-time.js';

/** What {@link SharedQuestions} work with. */
export interface SharedQuestionsOptions extends Publisher {
  /** As what they are counted. */
  readonly kind: AuthQuestionKind;
  readonly clock: Clock;
  /** How long a question may take with all its tries, in milliseconds. */
  readonly limitMs: number;
  /** What it ends with then. */
  readonly late: () => Error;
  /** Most questions under way at one time, of those whose answer was good and of the others. */
  readonly mostAsked: number;
}

/** How {@link SharedQuestions} get on. */
export interface SharedQuestionsStats {
  /** Questions that were not asked, or given up, for too many were under way. */
  readonly refused: number;
  /** Questions under way. */
  readonly asked: number;
  /** How many wait for the answer to a question that somebody else has asked. */
  readonly waiting: number;
}

/** Who asks what. */
export interface Asking {
  readonly key: string;
  readonly asker: string;
  /** The last answer was good. */
  readonly wasGood: boolean;
}

/** Gets an answer; its signal aborts when the time is over or nobody waits any more. */
export type Ask<T> = (signal: AbortSignal, wasGood: boolean) => Promise<T>;

/** A question under way, and how many wait for it. */
interface Question<T> extends Asking {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Questions under way: each is asked once at a time, and all who want the same share its answer.
 *
 * Strangers can ask whatever they make up. So what had a good answer has places of its own; and where all places are taken,
 * the asker who has most of them gives up his newest question for one who has less.
 */
export class SharedQuestions<T> {
  readonly #options: SharedQuestionsOptions;
  readonly #asked = new Map<string, Question<T>>();
  #refused = 0;

  constructor(options: SharedQuestionsOptions) {
    this.#options = options;
  }

  /** As of now. */
  get stats(): SharedQuestionsStats {
    const asked = this.#asked.size;
    const all = [...this.#asked.values()].reduce((sum, { waiting }) => sum + waiting, 0);
    return { refused: this.#refused, asked, waiting: all - asked };
  }

  /**
   * The answer of `ask`, or to the same question that is under way. `onAnswer` is told of it once, by the question that was asked,
   * unless nobody waited for it any more. Rejects as `ask` does, with the signal's reason, and with a {@link BusyError} when there is
   * no room for a question of that asker.
   */
  async share(asking: Asking, ask: Ask<T>, onAnswer: (answer: T) => void, signal: AbortSignal): Promise<T> {
    const { key } = asking;
    const question = this.#asked.get(key) ?? this.#ask(asking, ask, onAnswer);
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

  #ask(asking: Asking, ask: Ask<T>, onAnswer: (answer: T) => void): Question<T> {
    const { kind, clock, limitMs, late } = this.#options;
    const { key, wasGood } = asking;
    this.#makeRoom(asking);
    const controller = new AbortController();
    const limits = { clock, limitMs, late, signal: controller.signal };
    const answer = withinTime(limits, async (inner) => ask(inner, wasGood)).then(
      (found) => {
        publishTo(this.#options.channels, authFetchEnded, { kind, failed: false });
        if (this.#asked.get(key) === question) onAnswer(found);
        return found;
      },
      (error: unknown) => {
        publishTo(this.#options.channels, authFetchEnded, { kind, failed: true });
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
}
