import { expect, it } from 'vitest';
import { findSimilarWord } from './similar-word.js';

it.each([
  ['comand', 'command'],
  ['Command', 'command'],
  ['commandd', 'command'],
  ['cimmand', 'command'],
  ['comamnd', 'command'],
  ['', undefined],
  ['image', undefined],
])('suggests for %j the word %j', (word, meant) => {
  expect(findSimilarWord(word, ['name', 'command'])).toBe(meant);
});
