import { parseLabelSelector } from '#kube/fields/label-selector.js';
import { type StoredObject } from './stored-object.js';

/** Whether an object is meant by the `fieldSelector` and `labelSelector` of a request: of fields `=`, `==` and `!=`. */
export function makeSelector(
  query: Readonly<Record<string, string>> = {},
): (object: StoredObject) => boolean {
  const fields = termsOf(query['fieldSelector']);
  const hasLabels = parseLabelSelector(query['labelSelector'] ?? '');
  return (object) =>
    fields.every((term) => holds(term, fieldOf(object, term.key) ?? '')) &&
    hasLabels(object.metadata.labels ?? {});
}

interface Term {
  readonly key: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

function termsOf(selector: string | undefined): Term[] {
  if (selector === undefined || selector === '') return [];
  return selector.split(',').map((text) => {
    const [, key = '', operator, value = ''] = /^([^=!]+)(?:(==?|!=)(.*))?$/.exec(text) ?? [];
    return { key, operator: operator === '!=' ? '!=' : '=', value };
  });
}

function holds({ operator, value }: Term, actual: string | undefined): boolean {
  return (actual === value) === (operator === '=');
}

function fieldOf(object: StoredObject, path: string): string | undefined {
  let value: unknown = object;
  for (const step of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[step];
  return typeof value === 'string' ? value : undefined;
}
