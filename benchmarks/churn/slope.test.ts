import { expect, it } from 'vitest';
import { floorsOf, slopeOf } from './slope.js';

const every = (count: number, value: (at: number) => number) =>
  Array.from({ length: count }, (_, atS) => ({ atS, value: value(atS) }));

it('finds the growth of a value', () => {
  const { value, low, high } = slopeOf(every(60, (at) => 100 + 2 * at));
  expect(value).toBeCloseTo(2);
  expect(low).toBeCloseTo(2);
  expect(high).toBeCloseTo(2);
});

it('has 0 in the interval of a value that only wavers', () => {
  const { low, high } = slopeOf(every(60, (at) => 100 + ((at * 7) % 5)));
  expect(low).toBeLessThan(0);
  expect(high).toBeGreaterThan(0);
});

it('knows no growth of a single moment', () => {
  expect(slopeOf(every(1, () => 1)).value).toBeNaN();
});

it('takes what is left after each collection', () => {
  expect(
    floorsOf(
      every(40, (at) => 100 + (at % 20)),
      20,
    ),
  ).toEqual([
    { atS: 0, value: 100 },
    { atS: 20, value: 100 },
  ]);
});

it('is less sure of a value that stays a while where it is', () => {
  const widthOf = (value: (at: number) => number): number => {
    const { low, high } = slopeOf(every(64, value));
    return high - low;
  };
  const slow = widthOf((at) => Math.floor(at / 8) % 2);
  expect(slow).toBeGreaterThan(2 * widthOf((at) => at % 2));
  expect(slopeOf(every(64, (at) => Math.floor(at / 8) % 2)).low).toBeLessThan(0);
});
