import { publishTo } from '#base/channels/publishing-channel.js';
import { authAnswerGiven } from '#base/channels/auth-channels.js';
import { AnswerStore, type AnswerStoreOptions, type AnswerStoreStats } from './answer-store.js';
import {
  type Ask,
  SharedQuestions,
  type SharedQuestionsOptions,
  type SharedQuestionsStats,
} from './shared-questions.js';

/** What {@link CachedAnswers} work with. */
export interface CachedAnswersOptions<T> extends AnswerStoreOptions<T>, SharedQuestionsOptions {}

/** How {@link CachedAnswers} get on. */
export interface CachedAnswersStats extends AnswerStoreStats, SharedQuestionsStats {}

/** Answers by what was asked: given as they are kept ({@link AnswerStore}), and asked for else ({@link SharedQuestions}). */
export class CachedAnswers<T> {
  readonly #options: CachedAnswersOptions<T>;
  readonly #store: AnswerStore<T>;
  readonly #questions: SharedQuestions<T>;

  constructor(options: CachedAnswersOptions<T>) {
    this.#options = options;
    this.#store = new AnswerStore(options);
    this.#questions = new SharedQuestions(options);
  }

  /** As of now. */
  get stats(): CachedAnswersStats {
    return { ...this.#store.stats, ...this.#questions.stats };
  }

  /**
   * The answer that is kept, or that of `ask`, which all who want the same share; it is told whether the last answer was good, and
   * its signal aborts when the time is over or nobody waits any more. Rejects as `ask` does, which is not kept, with the signal's
   * reason, and with a BusyError when there is no room for a question of that `asker`.
   */
  async get(key: string, ask: Ask<T>, signal: AbortSignal, asker = ''): Promise<T> {
    signal.throwIfAborted();
    const { clock, kind } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const publish = (wasKept: boolean, failed: boolean): void =>
      publishTo(this.#options.channels, authAnswerGiven, {
        kind,
        wasKept,
        failed,
        durationMs: clock.monotonicMs() - startedAtMs,
      });
    const kept = this.#store.find(key);
    if (kept !== undefined) {
      publish(true, false);
      return kept;
    }
    try {
      const asking = { key, asker, wasGood: this.#store.wasGood(key) };
      const keep = (answer: T): void => this.#store.keep(key, answer);
      const answer = await this.#questions.share(asking, ask, keep, signal);
      publish(false, false);
      return answer;
    } catch (error) {
      publish(false, true);
      throw error;
    }
  }
}
