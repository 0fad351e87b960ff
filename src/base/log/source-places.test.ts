import { expect, it } from 'vitest';
import { type SourcePlace } from './source-place.js';
import { SourcePlaces } from './source-places.js';

const places = new SourcePlaces();

function whereAmI(): SourcePlace {
  return places.find(1);
}

it('finds the file and line of the caller', () => {
  const here = Number(/source-places\.test\.ts:(\d+):/.exec(new Error().stack!)![1]);
  expect(places.find()).toEqual({ file: 'source-places.test.ts', line: here + 1 });
  expect(whereAmI()).toEqual({ file: 'source-places.test.ts', line: here + 2 });
});

it('does not change stacks of files that were not bundled', () => {
  const stack = 'Error: x\n    at go (file:///elsewhere/program/run.js:3:5)\n    at node:internal/main:1:2';
  expect(places.translate(stack)).toBe(stack);
});
