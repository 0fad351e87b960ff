import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentKeys, RecentMap } from './recent-keys.js';

describe('recent keys', () => {
  it('return whether a key is new', () => {
    const keys = new RecentKeys({ maxKeys: 2 });
    expect(['a', 'b', 'a', 'b'].map((key) => keys.add(key))).toEqual([true, true, false, false]);
  });

  it('contain the last distinct keys, and never more than their limit', () => {
    const additions = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 60 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), additions, (maxKeys, all) => {
        const keys = new RecentKeys({ maxKeys });
        for (const [index, key] of all.entries()) {
          const before = [...new Set(all.slice(0, index).toReversed())].slice(0, maxKeys);
          expect(keys.add(key)).toBe(!before.includes(key));
          expect(keys.size).toBeLessThanOrEqual(maxKeys);
        }
      }),
    );
  });
});

describe('a recent map', () => {
  it('drops what was not used for the longest time, and makes it again', () => {
    const map = new RecentMap<string, number>({ maxKeys: 2 });
    let made = 0;
    const make = (): number => ++made;
    expect(['a', 'b', 'a', 'c', 'a', 'b'].map((key) => map.take(key, make))).toEqual([1, 2, 1, 3, 1, 4]);
    expect(map.size).toBe(2);
  });
});
