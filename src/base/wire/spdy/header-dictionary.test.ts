import { expect, it } from 'vitest';
import { adler32, makeHeaderDictionary } from './header-dictionary.js';

it('is the dictionary of SPDY/3: 1423 bytes with the checksum that every implementation has', () => {
  const dictionary = makeHeaderDictionary();
  expect(dictionary).toHaveLength(1423);
  expect(adler32(dictionary).toString(16)).toBe('e3c6a7c2');
});
