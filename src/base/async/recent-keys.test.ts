import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentKeys } from './recent-keys.js';

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
