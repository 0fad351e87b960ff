import { expect, it } from 'vitest';
import { matchesWildcards } from './matches-wildcards.js';

it.each([
  ['', '', true],
  ['', 'a', false],
  ['a', 'a', true],
  ['a', 'ab', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['*', '', true],
  ['**', 'abc', true],
  ['*b', 'abab', true],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['a*?', 'a', false],
  ['*?', 'ab', true],
  ['a.c', 'abc', false],
])('%j against %j is %s', (pattern, text, isIt) => {
  expect(matchesWildcards(pattern, text)).toBe(isIt);
});

it('is no slower with many stars', () => {
  const text = 'a'.repeat(10_000);
  expect(matchesWildcards('*a'.repeat(100), text)).toBe(true);
  expect(matchesWildcards(`${'*a'.repeat(100)}b`, text)).toBe(false);
});
