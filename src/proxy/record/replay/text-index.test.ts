import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextIndex } from './text-index.js';

describe('an index of texts', () => {
  it('finds at each place the longest that begins there, as a search for each of them does', async () => {
    const letters = fc.constantFrom('a', 'b');
    const text = fc.array(letters, { maxLength: 300 }).map((all) => all.join(''));
    const needle = fc.array(letters, { minLength: 4, maxLength: 140 }).map((all) => all.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(needle, { maxLength: 8 }), text, text, async (needles, before, after) => {
        const index = new TextIndex(100);
        for (const each of needles) index.add(each);
        const whole = before + needles.join('') + after;
        const expected = Array.from(whole, (_, at) => at).flatMap((at) => {
          const lengths = needles.filter((each) => whole.startsWith(each, at)).map(({ length }) => length);
          return lengths.length === 0 ? [] : [[at, at + Math.max(...lengths)]];
        });
        expect(await index.findIn(whole)).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it('forgets the oldest of too many, and not one that was added again', async () => {
    const index = new TextIndex(2);
    for (const each of ['first', 'second', 'first', 'firs', 'firsthand']) index.add(each);
    expect(await index.findIn('second firsthand')).toEqual([[7, 16]]);
    expect(await index.findIn('firs')).toEqual([[0, 4]]);
    index.add('other one');
    expect(await index.findIn('first second')).toEqual([]);
  });
});
