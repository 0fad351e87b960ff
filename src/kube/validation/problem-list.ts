import { type FieldPath } from '../fields/field-path.js';
import { type FieldProblem, invalid } from '../fields/field-problem.js';

/** A rule for a value: what would be right, or undefined when it is. */
export type Rule<Value> = (value: Value) => string | undefined;

/** Problems as they are found. */
export class ProblemList {
  readonly problems: FieldProblem[] = [];

  add(...problems: FieldProblem[]): void {
    this.problems.push(...problems);
  }

  /** Holds a value that is there against a rule. */
  check<Value>(path: FieldPath, value: Value | undefined, rule: Rule<Value>): void {
    if (value === undefined) return;
    const broken = rule(value);
    if (broken !== undefined) this.add(invalid(path, value, broken));
  }
}

/** A rule: whole numbers from `least` to `most`. */
export function inRange(least: number, most = Infinity): Rule<number> {
  return (value) => {
    if (value >= least && value <= most) return undefined;
    return most === Infinity ? `must be at least ${least}` : `must be from ${least} to ${most}`;
  };
}
