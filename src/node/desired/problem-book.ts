import { type ConfigProblem } from './config-problem.js';

/** Who wants to hear of problems. */
export interface ProblemBookOptions {
  /** Called once for each problem that was not there before. Must not throw. */
  readonly onProblem?: (problem: ConfigProblem) => void;
  /** Called once when a problem that was told is gone. Must not throw. */
  readonly onSolved?: (problem: ConfigProblem) => void;
  /** Called once when the last problem of a file is gone, be it mended or not there any more. Must not throw. */
  readonly onCleared?: (file: string) => void;
}

/**
 * The problems that stand, each told once.
 *
 * Every part that finds problems has a name of its own here, and says all of its problems each time. One that was gone
 * and is back is told again.
 */
export class ProblemBook {
  readonly #options: ProblemBookOptions;
  readonly #byPart = new Map<string, ReadonlyMap<string, ConfigProblem>>();

  constructor(options: ProblemBookOptions = {}) {
    this.#options = options;
  }

  /** Replaces what a part said before. */
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

  /** All that stand now, by part. */
  problems(): readonly ConfigProblem[] {
    return [...this.#byPart.values()].flatMap((problems) => [...problems.values()]);
  }
}

/** Which pods go on because of it is no part of what is wrong. */
function keyOf({ kept: _, ...problem }: ConfigProblem): string {
  return JSON.stringify(problem);
}
