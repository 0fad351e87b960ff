/** What {@link GinkgoProgress} tells of. */
export interface ProgressStep {
  /** So many specs have ended so far. */
  readonly ended: number;
  readonly failed: number;
  /** Those that have failed since the last step, with the suite's marks. */
  readonly newlyFailed: readonly string[];
}

/** Each spec that has ended is a bullet; one that did not pass says so behind it, with its name in the next line. */
const ENDED = /•/g;
const FAILED = /^• \[[A-Z]+\]/;

/** Reads along what Ginkgo prints while specs run beside one another. */
export class GinkgoProgress {
  readonly #onStep: (step: ProgressStep) => void;
  #ended = 0;
  #failed = 0;
  #rest = '';
  #isNameNext = false;

  constructor(onStep: (step: ProgressStep) => void) {
    this.#onStep = onStep;
  }

  /** Takes what was printed next, cut anywhere but within a character. */
  read(text: string): void {
    const more = [...text.matchAll(ENDED)].length;
    this.#ended += more;
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    const newlyFailed: string[] = [];
    for (const line of lines) {
      if (this.#isNameNext) newlyFailed.push(line);
      this.#isNameNext = FAILED.test(line);
    }
    this.#failed += newlyFailed.length;
    if (more > 0 || newlyFailed.length > 0)
      this.#onStep({ ended: this.#ended, failed: this.#failed, newlyFailed });
  }
}
