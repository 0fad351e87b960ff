import { Document, isScalar } from 'yaml';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { sortKeys } from '../jsonpath/run-template.js';
import { withServedDefaults } from './manifest-form.js';
import { YAML_FORM } from './object-text.js';

/** The comment behind a value. */
const MARK = ' default';
/** A larger object is printed without marks. */
const MAX_VALUES = 2_000;

type Path = readonly (string | number)[];

/**
 * An object as `toYamlText` prints it, with a comment behind each value of its spec that it would have without being
 * written: Kubernetes' defaults. A manifest may have written the same.
 */
export function toMarkedYaml(object: KubeObject): string {
  const document = new Document(sortKeys(object), YAML_FORM);
  for (const path of findDefaults(object)) {
    const node = document.getIn(path, true);
    if (isScalar(node)) node.comment = MARK;
  }
  return document.toString(YAML_FORM).replace(/\n$/, '');
}

/** Paths of the values that come back when they are left out. */
function findDefaults(object: KubeObject): Path[] {
  const values = [...valuesOf((object as { readonly spec?: unknown }).spec, ['spec'])];
  if (values.length > MAX_VALUES) return [];
  return values
    .filter(({ path, value }) => {
      const full = withServedDefaults(withoutValue(object, path));
      return value !== undefined && getAt(full, path) === value;
    })
    .map(({ path }) => path);
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
