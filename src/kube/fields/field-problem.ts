import { type FieldPath, formatFieldPath } from './field-path.js';

/**
 * The kind of a problem with a field.
 *
 * - `unknown`: Kubernetes has no such field; `type`: the value has the wrong type
 * - `required`, `invalid`, `unsupported-value`, `duplicate`, `not-found`, `forbidden`: Kubernetes rejects the
 *   value, in these classes of its own
 * - `refused`: valid in Kubernetes, but not supported here
 */
export type FieldProblemKind =
  | 'unknown'
  | 'type'
  | 'required'
  | 'invalid'
  | 'unsupported-value'
  | 'duplicate'
  | 'not-found'
  | 'forbidden'
  | 'refused';

/** One problem in an object that a user wrote. */
export interface FieldProblem {
  readonly kind: FieldProblemKind;
  readonly path: FieldPath;
  /** What is wrong and what would be right, with the value and without the path. */
  readonly message: string;
  /** Another field whose value makes it a problem. */
  readonly dependsOn?: FieldPath;
}

/** `spec.containers[0].image: Required value`. */
export function formatFieldProblem({ path, message }: FieldProblem): string {
  const place = formatFieldPath(path);
  return place === '' ? message : `${place}: ${message}`;
}

/** The field must be present and not empty. */
export function required(path: FieldPath, why = ''): FieldProblem {
  return { kind: 'required', path, message: why === '' ? 'Required value' : `Required value: ${why}` };
}

/** The value is invalid; `rule` says what would be right. */
export function invalid(path: FieldPath, value: unknown, rule: string): FieldProblem {
  return { kind: 'invalid', path, message: `Invalid value: ${formatValue(value)}: ${rule}` };
}

/** The value is not one of the allowed words. */
export function unsupportedValue(path: FieldPath, value: unknown, words: readonly string[]): FieldProblem {
  const list = words.map((word) => JSON.stringify(word)).join(', ');
  return {
    kind: 'unsupported-value',
    path,
    message: `Unsupported value: ${formatValue(value)}: supported values: ${list}`,
  };
}

/** The value occurs elsewhere and must not. */
export function duplicate(path: FieldPath, value: unknown): FieldProblem {
  return { kind: 'duplicate', path, message: `Duplicate value: ${formatValue(value)}` };
}

/** The value refers to something that does not exist. */
export function notFound(path: FieldPath, value: unknown): FieldProblem {
  return { kind: 'not-found', path, message: `Not found: ${formatValue(value)}` };
}

/** The field may not be set here. */
export function forbidden(path: FieldPath, why: string): FieldProblem {
  return { kind: 'forbidden', path, message: `Forbidden: ${why}` };
}

const MAX_VALUE_LENGTH = 120;

/** A value as JSON, shortened if it is long. */
export function formatValue(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) as string | undefined);
  if (text === undefined) return String(value);
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`;
}

/** Describes a value without revealing it, for values that must not appear in messages. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'boolean') return 'true or false';
  return typeof value === 'number' ? 'a number' : 'text';
}
