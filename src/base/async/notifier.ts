/** Passes on what an earlier part reports to later ones; it is made before both. */
export class Notifier<Message = void> {
  readonly #name: string;
  readonly #listeners = new Set<(message: Message) => void>();

  /** `name`: for the error when nobody listens. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Calls each listener, in the order in which they came. Throws when there is none: it would be lost. */
  notify(message: Message): void {
    if (this.#listeners.size === 0) throw new Error(`nobody listens yet: ${this.#name}`);
    for (const listener of [...this.#listeners]) listener(message);
  }

  /** Calls `listener` for each message until the returned function is called. */
  subscribe(listener: (message: Message) => void): () => void {
    // The same function may listen twice.
    const own = (message: Message): void => listener(message);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}

/** Passes a question of an earlier part on to a later one; it is made before both. */
export class Question<Subject, Answer> {
  readonly #name: string;
  #answer: ((subject: Subject) => Answer) | undefined;

  /** `name`: for the error when nobody answers. */
  constructor(name: string) {
    this.#name = name;
  }

  /** The answer of the part that knows it. Throws while there is none. */
  ask(subject: Subject): Answer {
    if (this.#answer === undefined) throw new Error(`nobody answers yet: ${this.#name}`);
    return this.#answer(subject);
  }

  /** From now on questions are answered by this. Once. */
  answerWith(answer: (subject: Subject) => Answer): void {
    if (this.#answer !== undefined) throw new Error(`somebody answers already: ${this.#name}`);
    this.#answer = answer;
  }
}
