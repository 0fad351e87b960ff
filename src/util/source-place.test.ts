import { expect, it } from 'vitest';
import { findSourcePlace, type SourcePlace } from './source-place.js';

function whereAmI(): SourcePlace {
  return findSourcePlace(1);
}

it('names the file and line that called', () => {
  const here = Number(/source-place\.test\.ts:(\d+):/.exec(new Error().stack!)![1]);
  expect(findSourcePlace()).toEqual({ file: 'source-place.test.ts', line: here + 1 });
  expect(whereAmI()).toEqual({ file: 'source-place.test.ts', line: here + 2 });
});
