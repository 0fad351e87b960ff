import { expect, it } from 'vitest';
import { BoundedValues } from './bounded-values.js';

it('keeps the first values as they are and folds all later ones', () => {
  const values = new BoundedValues(2);
  expect(['a', 'b', 'c', 'a', 'd', 'b'].map((value) => values.take(value))).toEqual([
    ...['a', 'b', 'other'],
    ...['a', 'other', 'b'],
  ]);
});
