import { setImmediate as nextTurn } from 'node:timers/promises';
import { Document, isScalar } from 'yaml';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { sortKeys } from '../jsonpath/run-template.js';
import { withServedDefaults } from './manifest-form.js';
import { YAML_FORM } from './object-text.js';

/** The comment behind a value. */
const MARK = ' default';
/** A larger object is printed without marks: each value takes some milliseconds. */
const MAX_VALUES = 500;

type Path = readonly (string | number)[];

/**
 * An object as `toYamlText` prints it, with a comment behind each value of its spec that it would have without being
 * written: Kubernetes' defaults. A manifest may have written the same. Others have their turn between two values.
 */
export async function toMarkedYaml(object: KubeObject, signal: AbortSignal): Promise<string> {
  const document = new Document(sortKeys(object), YAML_FORM);
  for (const path of await findDefaults(object, signal)) {
    const node = document.getIn(path, true);
    if (isScalar(node)) node.comment = MARK;
  }
  return document.toString(YAML_FORM).replace(/\n$/, '');
}

/** Paths of the values that come back when they are left out. */
async function findDefaults(object: KubeObject, signal: AbortSignal): Promise<Path[]> {
  const values = [...valuesOf((object as { readonly spec?: unknown }).spec, ['spec'])];
  if (values.length > MAX_VALUES) return [];
  const paths: Path[] = [];
  for (const { path, value } of values) {
    if (value === undefined) continue;
    await nextTurn(undefined, { signal });
    if (getAt(withServedDefaults(withoutValue(object, path)), path) === value) paths.push(path);
  }
  return paths;
}

/** Plain values that have a name. */
function* valuesOf(value: unknown, path: Path): Generator<{ readonly path: Path; readonly value: unknown }> {
  const isPlain = typeof value !== 'object' || value === null;
  if (isPlain && typeof path.at(-1) === 'string') yield { path, value };
  if (isPlain) return;
  for (const [key, part] of Object.entries(value))
    yield* valuesOf(part, [...path, Array.isArray(value) ? Number(key) : key]);
}

/** A copy of what leads there, without it. */
function withoutValue<Value>(value: Value, [key, ...rest]: Path): Value {
  if (Array.isArray(value))
    return value.map((each: unknown, at) => (at === key ? withoutValue(each, rest) : each)) as Value;
  const fields = Object.entries(value as object).flatMap(([name, part]: [string, unknown]) => {
    if (name !== key) return [[name, part]];
    return rest.length === 0 ? [] : [[name, withoutValue(part, rest)]];
  });
  return Object.fromEntries(fields as [string, unknown][]) as Value;
}

function getAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], value);
}
