import { badRequest } from './api-error.js';

/** A whole, non-negative number of the query; undefined when it is missing or empty. Throws BadRequest. */
export function readWhole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw badRequest(`${name}: Invalid value: ${JSON.stringify(text)}: must be a whole number, 0 or more`);
}
