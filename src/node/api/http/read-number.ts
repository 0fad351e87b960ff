import { badRequest } from './api-error.js';

/** A whole number of the query that is not negative; undefined when it is not there or empty. Throws BadRequest. */
export function readWhole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw badRequest(`${name}: Invalid value: ${JSON.stringify(text)}: must be a whole number, 0 or more`);
}
