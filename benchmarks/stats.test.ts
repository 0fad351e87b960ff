import { describe, expect, it } from 'vitest';
import { bootstrapRatio, createRandom, mean, median, quantile } from './stats.js';

describe('the statistics of the benchmarks', () => {
  it('take quantiles between neighbours and leave the input alone', () => {
    const values = [40, 10, 30, 20];
    expect(median(values)).toBe(25);
    expect(quantile(values, 0)).toBe(10);
    expect(quantile(values, 1)).toBe(40);
    expect(quantile(values, 0.75)).toBeCloseTo(32.5);
    expect(values).toEqual([40, 10, 30, 20]);
    expect(median([7])).toBe(7);
    expect(quantile([], 0.5)).toBeNaN();
    expect(mean([1, 2, 6])).toBe(3);
  });

  it('draw evenly, and the same for the same seed', () => {
    const random = createRandom(3);
    const drawn = Array.from({ length: 10_000 }, random);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(1);
    expect(mean(drawn)).toBeCloseTo(0.5, 1);
    const again = createRandom(3);
    expect(drawn.slice(0, 5)).toEqual(Array.from({ length: 5 }, again));
  });

  it('give an interval without width where every round has the same ratio', () => {
    const ratio = bootstrapRatio([2, 4, 6], [1, 2, 3], mean);
    expect(ratio).toEqual({ value: 2, low: 2, high: 2 });
  });

  it('cover the true ratio about as often as promised', () => {
    const random = createRandom(11);
    let covered = 0;
    const trials = 200;
    for (let trial = 0; trial < trials; trial++) {
      const bare = Array.from({ length: 40 }, () => 10 + random());
      const product = Array.from({ length: 40 }, () => 1.2 * (10 + random()));
      const { low, high } = bootstrapRatio(product, bare, mean, { resamples: 400, seed: trial });
      if (low <= 1.2 && 1.2 <= high) covered++;
    }
    expect(covered / trials).toBeGreaterThan(0.88);
    expect(covered / trials).toBeLessThan(1);
  });

  it('refuse rounds that are not paired', () => {
    expect(() => bootstrapRatio([1], [1, 2], mean)).toThrow(RangeError);
    expect(() => bootstrapRatio([], [], mean)).toThrow(RangeError);
  });
});
