import { expect, it } from 'vitest';
import { isRecord } from './is-record.js';

it.each([
  [{}, true],
  [{ name: 'web' }, true],
  [[], false],
  [null, false],
  [undefined, false],
  ['name', false],
  [1, false],
])('%j has named fields: %j', (value, has) => {
  expect(isRecord(value)).toBe(has);
});
