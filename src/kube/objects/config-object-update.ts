import { type ConfigObject } from './config-object.js';
import { type FieldProblem, forbidden, invalid } from '../fields/field-problem.js';

/**
 * Whether two versions of an object have the same content for pods, ignoring labels and annotations. Pure.
 */
export function hasSameContent(one: ConfigObject, other: ConfigObject): boolean {
  if (one === other) return true;
  if (one.kind === 'Secret') {
    return other.kind === 'Secret' && one.type === other.type && areSame(one.data, other.data, isSameBytes);
  }
  return (
    other.kind === 'ConfigMap' &&
    areSame(one.data, other.data, (text, next) => text === next) &&
    areSame(one.binaryData, other.binaryData, isSameBytes)
  );
}

/**
 * Finds changes of an existing object that Kubernetes rejects. Pure; both have the same kind, namespace and
 * name.
 *
 * If it is `immutable`, everything but labels and annotations is fixed; the type of a Secret is always fixed.
 */
export function checkConfigObjectUpdate(before: ConfigObject, next: ConfigObject): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (before.kind === 'Secret' && next.kind === 'Secret' && before.type !== next.type) {
    problems.push(invalid(['type'], next.type, `field is immutable; ${WAY_OUT}`));
  }
  if (before.immutable !== true) return problems;
  const why = `field is immutable when \`immutable\` is set; ${WAY_OUT}`;
  if (next.immutable !== true) problems.push(forbidden(['immutable'], why));
  if (!areSame<unknown>(before.data, next.data, isSameValue)) problems.push(forbidden(['data'], why));
  if (before.kind === 'ConfigMap' && next.kind === 'ConfigMap') {
    if (!areSame(before.binaryData, next.binaryData, isSameBytes)) {
      problems.push(forbidden(['binaryData'], why));
    }
  }
  return problems;
}

const WAY_OUT = 'remove the object, and add it once it is gone';

function areSame<Value>(
  one: ReadonlyMap<string, Value>,
  other: ReadonlyMap<string, Value>,
  isSame: (value: Value, next: Value) => boolean,
): boolean {
  if (one.size !== other.size) return false;
  for (const [key, value] of one) {
    if (!other.has(key) || !isSame(value, other.get(key)!)) return false;
  }
  return true;
}

function isSameValue(value: unknown, next: unknown): boolean {
  return value instanceof Uint8Array && next instanceof Uint8Array
    ? isSameBytes(value, next)
    : value === next;
}

function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
