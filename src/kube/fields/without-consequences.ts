import { type FieldPath, formatFieldPath } from './field-path.js';
import { type FieldProblem } from './field-problem.js';

/**
 * Removes problems that only follow from those that are known.
 *
 * An example is "must have one of" beside a field that is not supported, or that contains a value of another type. A
 * value of another type is left out of what is validated: whatever holds it, or should have it, is not what its author
 * wrote. `spec.resources[storage]` stands for the same of `spec.resources.requests[storage]`.
 */
export function withoutConsequences(
  problems: readonly FieldProblem[],
  known: readonly FieldProblem[],
): readonly FieldProblem[] {
  const refused = known.filter(({ kind }) => kind === 'refused');
  const holders = new Set(refused.map(({ path }) => formatFieldPath(path.slice(0, -1))));
  const mistyped = known.filter(({ kind }) => kind === 'type').map(({ path }) => path);
  const isLackOf = ({ kind, path }: FieldProblem): boolean =>
    kind === 'required' &&
    (holders.has(formatFieldPath(path)) || mistyped.some((place) => isAtOrInside(place, withoutKey(path))));
  const isHolderOf = ({ kind, path }: FieldProblem): boolean =>
    kind === 'invalid' && mistyped.some((place) => isAtOrInside(place, path));
  const isOfUnknown = ({ dependsOn }: FieldProblem): boolean =>
    dependsOn !== undefined && mistyped.some((place) => isAtOrInside(place, dependsOn));
  return problems.filter((problem) => ![isLackOf, isHolderOf, isOfUnknown].some((isNone) => isNone(problem)));
}

function isAtOrInside(inner: FieldPath, outer: FieldPath): boolean {
  return formatFieldPath(inner.slice(0, outer.length)) === formatFieldPath(outer);
}

function withoutKey(path: FieldPath): FieldPath {
  return typeof path.at(-1) === 'object' ? path.slice(0, -1) : path;
}
