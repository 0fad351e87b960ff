import { type ConfigProblem } from './config-problem.js';

/** The listeners of problems. */
export interface ProblemBookOptions {
  /** Called once for each new problem. Must not throw. */
  readonly onProblem?: (problem: ConfigProblem) => void;
  /** Called once when a reported problem is gone. Must not throw. */
  readonly onSolved?: (problem: ConfigProblem) => void;
  /**
   * Called once when the last problem of a file is gone, whether the file was fixed or removed. Must not
   * throw.
   */
  readonly onCleared?: (file: string) => void;
}

/**
 * The present problems, each reported once.
 *
 * Every part that finds problems has its own name here, and reports all of its problems each time. A problem
 * that comes back is reported again.
 */
export class ProblemBook {
  readonly #options: ProblemBookOptions;
  readonly #byPart = new Map<string, ReadonlyMap<string, ConfigProblem>>();

  constructor(options: ProblemBookOptions = {}) {
    this.#options = options;
  }

  /** Replaces a part's problems. */
  report(part: string, problems: readonly ConfigProblem[]): void {
    const before = this.#byPart.get(part) ?? new Map<string, ConfigProblem>();
    const now = new Map(problems.map((problem) => [keyOf(problem), problem]));
    if (now.size === 0) this.#byPart.delete(part);
    else this.#byPart.set(part, now);
    for (const [key, problem] of now) if (!before.has(key)) this.#options.onProblem?.(problem);
    const solved = [...before].filter(([key]) => !now.has(key)).map(([, problem]) => problem);
    for (const problem of solved) this.#options.onSolved?.(problem);
    const left = new Set(this.problems().map(({ file }) => file));
    for (const file of new Set(solved.map((problem) => problem.file))) {
      if (!left.has(file)) this.#options.onCleared?.(file);
    }
  }

  /** All present problems, by part. */
  problems(): readonly ConfigProblem[] {
    return [...this.#byPart.values()].flatMap((problems) => [...problems.values()]);
  }
}

/** The pods that run on because of it are not part of a problem's identity. */
function keyOf({ kept: _, ...problem }: ConfigProblem): string {
  return JSON.stringify(problem);
}
