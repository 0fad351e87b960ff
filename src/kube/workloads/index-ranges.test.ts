import { describe, expect, it } from 'vitest';
import { countIndexes, countIndexesWithin, formatIndexes, parseIndexRanges } from './index-ranges.js';

describe('indexes of a Job', () => {
  it.each([
    ['', []],
    ['3', [3]],
    ['0,1', [0, 1]],
    ['0-2,5,7-9', [0, 1, 2, 5, 7, 8, 9]],
  ])('are read and written as Kubernetes does: %j', (text, indexes) => {
    const ranges = parseIndexRanges(text, 10);
    expect(
      ranges.flatMap(({ first, last }) => indexes.filter((each) => each >= first && each <= last)),
    ).toEqual(indexes);
    expect(countIndexes(ranges)).toBe(indexes.length);
    expect(formatIndexes(indexes)).toBe(text);
  });

  it.each([
    [
      '1-2-3',
      'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts',
    ],
    ['a', 'cannot convert string to integer for index: "a"'],
    ['1,', 'cannot convert string to integer for index: ""'],
    ['-1', 'cannot convert string to integer for index: ""'],
    ['1-b', 'cannot convert string to integer for index: "b"'],
    ['10', 'too large index: "10"'],
    ['1-10', 'too large index: "10"'],
    ['2-2', 'non-increasing order, previous: 2, current: 2'],
    ['3-2', 'non-increasing order, previous: 3, current: 2'],
    ['1-3,3', 'non-increasing order, previous: 3, current: 3'],
  ])('are refused in its words: %j', (text, why) => {
    expect(() => parseIndexRanges(text, 10)).toThrow(why);
  });
});

it('indexes in ranges are counted in one pass through both', () => {
  let reads = 0;
  const counted = <Item extends object>(items: Item): Item =>
    new Proxy(items, {
      get: (target, name) => {
        if (typeof name === 'string' && /^(?:\d+|first|last)$/.test(name)) reads++;
        return Reflect.get(target, name) as unknown;
      },
    });
  const ranges = Array.from({ length: 1_000 }, (_, at) => counted({ first: 3 * at, last: 3 * at + 1 }));
  const indexes = counted(Array.from({ length: 3_000 }, (_, at) => at));
  expect(countIndexesWithin(ranges, indexes)).toBe(2_000);
  expect(reads).toBeLessThan(20_000);
  expect(countIndexesWithin([], [1])).toBe(0);
  expect(countIndexesWithin([{ first: 2, last: 4 }], [0, 1, 4, 9])).toBe(1);
});
