import { type FindOptions, findValues } from './find-values.js';
import { type TemplatePart } from './path-node.js';

/** The text that a template makes of an object. Throws PathError. */
export function runTemplate(parts: readonly TemplatePart[], object: unknown, options: FindOptions): string {
  return findResults(parts, object, options)
    .map((values) => values.map((value) => toText(value)).join(' '))
    .join('');
}

/** What each part of a template finds, in order. Throws PathError. */
export function findResults(
  parts: readonly TemplatePart[],
  object: unknown,
  options: FindOptions,
): (readonly unknown[])[] {
  return parts.flatMap((part): (readonly unknown[])[] => {
    if (part.kind === 'text') return [[part.text]];
    const found = findValues(part.path, [object], options);
    if (part.kind === 'path') return [found];
    return found.flatMap((value) => findResults(part.body, value, options));
  });
}

/** A value as kubectl's jsonpath prints it: text as it is, objects and lists as JSON. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(sortKeys(value ?? null));
}

/** The same with every object's keys in order. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => sortKeys(one));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sortKeys(one)]));
}
