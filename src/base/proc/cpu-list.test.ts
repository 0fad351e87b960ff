import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseCpuList } from './cpu-list.js';

it.each([
  ['0', [0]],
  ['0-3', [0, 1, 2, 3]],
  ['0-1,4,6-7', [0, 1, 4, 6, 7]],
  [' 2 , 5-5', [2, 5]],
])('a list of processors is read: %j', (text, cpus) => {
  expect([...parseCpuList(text)!]).toEqual(cpus);
});

it.each(['', 'a', '1-', '-1', '3-1', '0,', '0 1', '0x1', '1.5', '0-999999'])('%j is none', (text) => {
  expect(parseCpuList(text)).toBeUndefined();
});

it('every set of processors that is written as ranges is read as it was', () => {
  const range = fc.tuple(fc.nat(500), fc.nat(8));
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 8 }), (ranges) => {
      const text = ranges
        .map(([from, more]) => (more === 0 ? `${from}` : `${from}-${from + more}`))
        .join(',');
      const wanted = new Set(
        ranges.flatMap(([from, more]) => Array.from({ length: more + 1 }, (_, at) => from + at)),
      );
      expect(parseCpuList(text)).toEqual(wanted);
    }),
  );
});
