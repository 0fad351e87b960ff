import { expect, it } from 'vitest';
import { isOlderUnlessUnknown, isSurelyOlder } from './resource-version.js';

it.each([
  ['9', '10', true, true],
  ['10', '9', false, false],
  ['10', '10', false, false],
  ['12345678901234567890', '12345678901234567891', true, true],
  ['a', '10', false, true],
  ['10', 'a', false, true],
  ['', '10', false, true],
  [undefined, '10', false, true],
])('takes %s for older than %s: surely %s, unless unknown %s', (one, other, surely, unlessUnknown) => {
  expect(isSurelyOlder(one, other)).toBe(surely);
  expect(isOlderUnlessUnknown(one, other)).toBe(unlessUnknown);
});
