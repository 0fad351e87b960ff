/**
 * Field selectors: `metadata.name=web,status.phase!=Running`.
 *
 * Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
 *
 * @module
 */
import { badRequest } from '../http/api-error.js';

/** How to read each selectable field from an object. */
export type SelectableFields<Item> = Readonly<Record<string, (item: Item) => string>>;

/** Whether an object matches. */
export type FieldMatcher<Item> = (item: Item) => boolean;

/** Parses a selector; an empty one matches everything. Throws BadRequest, also for an unsupported field. */
export function parseFieldSelector<Item>(text: string, fields: SelectableFields<Item>): FieldMatcher<Item> {
  const terms = splitTerms(text).filter((term) => term !== '');
  const matchers = terms.map((term): FieldMatcher<Item> => {
    const found = /^(.+?)(==|!=|=)(.*)$/s.exec(term);
    if (found === null) {
      throw badRequest(`invalid selector: ${JSON.stringify(text)}; can't understand ${JSON.stringify(term)}`);
    }
    const [, name = '', operator, escaped = ''] = found;
    const read = Object.hasOwn(fields, name.trim()) ? fields[name.trim()] : undefined;
    if (read === undefined) throw badRequest(`field label not supported: ${name.trim()}`);
    const value = escaped.replaceAll(/\\([\\,=])/g, '$1');
    return (item) => (read(item) === value) === (operator !== '!=');
  });
  return (item) => matchers.every((matches) => matches(item));
}

/** Splits at commas without a backslash before them. */
function splitTerms(text: string): string[] {
  const terms = [''];
  for (const part of text.match(/\\.|,|[^\\,]+|\\$/gs) ?? []) {
    if (part === ',') terms.push('');
    else terms[terms.length - 1]! += part;
  }
  return terms;
}
