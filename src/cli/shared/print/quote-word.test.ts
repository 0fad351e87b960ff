import { expect, it } from 'vitest';
import { quoteWord } from './quote-word.js';

it('quotes what a shell would take apart', () => {
  expect(["it's", '$HOME', '', 'a;b'].map(quoteWord)).toEqual([
    String.raw`'it'\''s'`,
    "'$HOME'",
    "''",
    "'a;b'",
  ]);
});
