import { type KubeObject } from '#kube/columns/kube-object.js';
import { failure } from '../../command-failure.js';
import { parseTemplate, relaxTemplate } from '../jsonpath/parse-template.js';
import { findResults } from '../jsonpath/run-template.js';
import { findQuantity } from '#kube/fields/quantity.js';

/** The objects in the order of a field, as `--sort-by` wants it: those without it first. Throws a CommandFailure. */
export function sortObjects<T extends KubeObject>(objects: readonly T[], field: string): T[] {
  const keyOf = readKey(field);
  const keyed = objects.map((object) => ({ object, key: keyOf(object) }));
  if (objects.length > 0 && keyed.every(({ key }) => key === undefined)) {
    throw failure(`couldn't find any field with path "${relaxTemplate(field)}" in the list of objects`);
  }
  return keyed.sort((a, b) => compareKeys(a.key, b.key)).map(({ object }) => object);
}

function readKey(field: string): (object: KubeObject) => unknown {
  try {
    const template = parseTemplate(relaxTemplate(field));
    return (object) => findResults(template, object, { allowMissingKeys: true }).flat()[0];
  } catch (error) {
    throw failure((error as Error).message);
  }
}

/** Numbers and quantities by their size, text as people count: `web-2` before `web-10`. */
function compareKeys(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [toText(a), toText(b)];
  const quantities = [findQuantity(left), findQuantity(right)];
  if (quantities[0] !== undefined && quantities[1] !== undefined) {
    const difference = quantities[0].nanos - quantities[1].nanos;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  return left.localeCompare(right, 'en', { numeric: true });
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
