import { expect, it } from 'vitest';
import { sumIfKnown } from './sum-if-known.js';

it('adds up known parts, and returns undefined if a part is unknown', () => {
  expect(sumIfKnown([])).toBe(0);
  expect(sumIfKnown([1, 0, 2])).toBe(3);
  expect(sumIfKnown([1, undefined, 2])).toBeUndefined();
});
