import { expect, it } from 'vitest';
import { percentileOf } from './percentile.js';

const TO_TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

it.each([
  [TO_TEN, 0, 1],
  [TO_TEN, 0.5, 5],
  [TO_TEN, 0.51, 6],
  [TO_TEN, 0.99, 10],
  [TO_TEN, 1, 10],
  [[7], 0.5, 7],
  [[], 0.5, 0],
])('of %j at %d is %d', (sorted, share, value) => {
  expect(percentileOf(sorted, share)).toBe(value);
});
