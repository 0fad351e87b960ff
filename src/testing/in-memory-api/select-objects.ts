import { type StoredObject } from './stored-object.js';

/** Whether an object is meant by the `fieldSelector` and `labelSelector` of a request: `=`, `==`, `!=` and, of labels, presence. */
export function makeSelector(
  query: Readonly<Record<string, string>> = {},
): (object: StoredObject) => boolean {
  const fields = termsOf(query['fieldSelector']);
  const labels = termsOf(query['labelSelector']);
  return (object) =>
    fields.every((term) => holds(term, fieldOf(object, term.key) ?? '')) &&
    labels.every((term) => holds(term, object.metadata.labels?.[term.key]));
}

interface Term {
  readonly key: string;
  readonly operator: '=' | '!=' | 'exists';
  readonly value: string;
}

function termsOf(selector: string | undefined): Term[] {
  if (selector === undefined || selector === '') return [];
  return selector.split(',').map((text) => {
    const [, key = '', operator, value = ''] = /^([^=!]+)(?:(==?|!=)(.*))?$/.exec(text) ?? [];
    return { key, operator: operator === undefined ? 'exists' : operator === '!=' ? '!=' : '=', value };
  });
}

function holds({ operator, value }: Term, actual: string | undefined): boolean {
  if (operator === 'exists') return actual !== undefined;
  return (actual === value) === (operator === '=');
}

function fieldOf(object: StoredObject, path: string): string | undefined {
  let value: unknown = object;
  for (const step of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[step];
  return typeof value === 'string' ? value : undefined;
}
