import { isRecord } from '#base/text/is-record.js';
import { type Path, PathError, type PathNode } from './path-node.js';

/** How a path is followed. */
export interface FindOptions {
  /** A field that is nowhere gives nothing, instead of an error. */
  readonly allowMissingKeys: boolean;
}

/** Everything that a path leads to, in order. Throws {@link PathError} where a step does not fit. */
export function findValues(path: Path, from: readonly unknown[], options: FindOptions): readonly unknown[] {
  let values = from;
  for (const node of path) values = takeStep(node, values, options);
  return values;
}

function takeStep(node: PathNode, values: readonly unknown[], options: FindOptions): readonly unknown[] {
  switch (node.kind) {
    case 'text':
      return [node.text];
    case 'value':
      return values.map(() => node.value);
    case 'field':
      return takeField(node.name, values, options);
    case 'index':
      return values.filter(isThere).map((value) => pick(toList(value), node.at));
    case 'slice':
      return values.filter(isThere).flatMap((value) => cut(toList(value), node));
    case 'wildcard':
      return values.flatMap((value) => childrenOf(value));
    case 'recursive':
      return values.flatMap((value) => descend(value));
    case 'union':
      return node.paths.flatMap((path) => findValues(path, values, options));
    case 'filter':
      return values.flatMap((value) => filter(value, node, options));
  }
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function takeField(name: string, values: readonly unknown[], { allowMissingKeys }: FindOptions): unknown[] {
  const found = values.flatMap((value) =>
    isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : [],
  );
  if (found.length > 0 || values.length === 0 || allowMissingKeys) return found;
  throw new PathError(`${name} is not found`);
}

function toList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw new PathError(`${typeOf(value)} is not array or slice`);
}

/** Go's name for what JSON holds. */
function typeOf(value: unknown): string {
  if (isRecord(value)) return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function pick(list: readonly unknown[], at: number): unknown {
  const place = at < 0 ? at + list.length : at;
  if (place >= 0 && place < list.length) return list[place];
  throw new PathError(`array index out of bounds: index ${place}, length ${list.length}`);
}

function cut(list: readonly unknown[], node: PathNode & { kind: 'slice' }): unknown[] {
  const { length } = list;
  const from = absolute(node.from ?? 0, length);
  const to = absolute(node.to ?? length, length);
  const step = node.step ?? 1;
  if (from === to) return [];
  const outside = (at: number): PathError =>
    new PathError(`array index out of bounds: index ${at}, length ${length}`);
  if (from >= length || from < 0) throw outside(from);
  if (to > length || to < 0) throw outside(to - 1);
  if (from > to) throw new PathError(`starting index ${from} is greater than ending index ${to}`);
  if (step <= 0) throw new PathError('step must be > 0');
  return list.slice(from, to).filter((_, at) => at % step === 0);
}

function absolute(at: number, length: number): number {
  return at < 0 ? at + length : at;
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  // In the order of their names: kubectl's is another each time.
  if (isRecord(value))
    return Object.keys(value)
      .sort()
      .map((key) => value[key]);
  return [];
}

/** The value, if it holds something, and everything below it that does. */
function descend(value: unknown): unknown[] {
  const children = childrenOf(value);
  return children.length === 0 ? [] : [value, ...children.flatMap((child) => descend(child))];
}

function filter(
  value: unknown,
  { left, operator, right }: PathNode & { kind: 'filter' },
  options: FindOptions,
): unknown[] {
  if (!Array.isArray(value))
    throw new PathError(`${typeOf(value)} is not array or slice and cannot be filtered`);
  return (value as readonly unknown[]).filter((item) => {
    if (operator === '') return findOrNothing(left, item, options).length > 0;
    const lefts = findValues(left, [item], options);
    if (lefts.length === 0) return false;
    const rights = findValues(right, [item], options);
    if (rights.length === 0) return false;
    if (lefts.length > 1 || rights.length > 1) throw new PathError('can only compare one element at a time');
    return compare(lefts[0], operator, rights[0]);
  });
}

function findOrNothing(path: Path, item: unknown, options: FindOptions): readonly unknown[] {
  try {
    return findValues(path, [item], options);
  } catch {
    return [];
  }
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  if (typeof left !== typeof right) throw new PathError('incompatible types for comparison');
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  const comparable =
    (typeof left === 'number' && typeof right === 'number') ||
    (typeof left === 'string' && typeof right === 'string');
  if (!comparable) throw new PathError('invalid type for comparison');
  if (operator === '<') return left < right;
  if (operator === '>') return left > right;
  return operator === '<=' ? left <= right : left >= right;
}
