import { type ListAnswer } from './list-changes.js';

/** Different questions that are remembered: a list for each of many filters would be without end. */
const MAX_QUESTIONS = 64;
/** All that is remembered; of large lists fewer are. */
const MAX_BYTES = 256 * 2 ** 20;

interface Remembered {
  readonly answer: ListAnswer;
  readonly bytes: number;
}

/** The latest answers to lists, by what was asked. */
export class AnswerHistory {
  readonly #answers = new Map<string, Remembered[]>();
  #bytes = 0;

  static keyOf(path: string, request: Buffer): string {
    return `${path} ${request.toString('base64')}`;
  }

  /** Remembers the latest answer, and `most - 1` before it. */
  add(key: string, answer: ListAnswer, most: number): void {
    const answers = this.#answers.get(key) ?? [];
    const bytes = answer.reduce((sum, { length }) => sum + length, 0);
    // Last in the order of the questions, so that the one that was not asked for longest goes first.
    this.#answers.delete(key);
    this.#answers.set(key, answers);
    answers.push({ answer, bytes });
    this.#bytes += bytes;
    while (answers.length > most) this.#bytes -= answers.shift()!.bytes;
    while (this.#answers.size > MAX_QUESTIONS || this.#bytes > MAX_BYTES) {
      const [oldest, list] = this.#answers.entries().next().value!;
      this.#bytes -= list.shift()?.bytes ?? 0;
      if (list.length === 0) this.#answers.delete(oldest);
      if (this.#answers.size === 0) return;
    }
  }

  /** The answer so many before the latest one, which is 0; undefined when there is none that old. */
  find(key: string, behind: number): ListAnswer | undefined {
    return this.#answers.get(key)?.at(-1 - behind)?.answer;
  }
}
