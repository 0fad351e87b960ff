import { expect, it } from 'vitest';
import { fitExponent, ratioOfOne } from './growth.js';

const noise = [0.98, 1, 1.02, 0.99, 1.01];
const grown = (exponent: number) =>
  [500, 1_000, 5_000].map((size) => ({ size, wallMs: noise.map((each) => each * size ** exponent) }));

it('finds the exponent with which time grows', () => {
  for (const exponent of [1, 2]) {
    const found = fitExponent(grown(exponent))!;
    expect(found.value).toBeCloseTo(exponent, 6);
    expect(found.low).toBeLessThanOrEqual(exponent);
    expect(found.high).toBeGreaterThanOrEqual(exponent);
    expect(found.high - found.low).toBeLessThan(0.05);
  }
});

it('says nothing of one size', () => {
  expect(fitExponent(grown(1).slice(0, 1))).toBeUndefined();
});

it('says how many times as much one costs on a larger node', () => {
  const [small, , large] = grown(2);
  const { value, low, high } = ratioOfOne(large!, small!);
  expect(value).toBeCloseTo(10);
  expect(low).toBeGreaterThan(9.5);
  expect(high).toBeLessThan(10.5);
});
