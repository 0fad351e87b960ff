import { type FieldPath } from '../fields/field-path.js';
import { type FieldProblem, invalid } from '../fields/field-problem.js';

/** A rule for a value: returns what would be right, or undefined if the value is valid. */
export type Rule<Value> = (value: Value) => string | undefined;

/** Collects problems. */
export class ProblemList {
  readonly problems: FieldProblem[] = [];

  add(...problems: FieldProblem[]): void {
    this.problems.push(...problems);
  }

  /** Checks a value by a rule if it is present. */
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
