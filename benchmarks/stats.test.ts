import { describe, expect, it } from 'vitest';
import {
  bootstrapRatio,
  bootstrapRatioOfBlocks,
  bootstrapRatioOfWindows,
  createRandom,
  drawNeighbours,
  fitSlope,
  mean,
  median,
  quantile,
} from './stats.js';

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

  it('know a quantile among values that never came', () => {
    const never = Number.POSITIVE_INFINITY;
    expect(quantile([1, never, never, never], 0.9)).toBe(never);
    expect(quantile([1, 2, 3, never], 0.5)).toBe(2.5);
    expect(quantile([1, 2, 3, never], 0.99)).toBe(never);
  });

  it('lay a line through points', () => {
    expect(fitSlope([1, 2, 5].map((x) => ({ x, y: 3 * x - 1 })))).toBeCloseTo(3);
    expect(fitSlope([{ x: 1, y: 1 }])).toBeNaN();
    expect(fitSlope([])).toBeNaN();
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

  it('draw neighbours together, the last with the first', () => {
    const values = Array.from({ length: 9 }, (_, at) => at);
    const drawn = drawNeighbours(values, createRandom(5));
    expect(drawn).toHaveLength(9);
    for (const block of [drawn.slice(0, 3), drawn.slice(3, 6), drawn.slice(6)])
      expect(block).toEqual([0, 1, 2].map((after) => (block[0]! + after) % 9));
    expect(drawNeighbours([7], createRandom(5))).toEqual([7]);
    expect(drawNeighbours([], createRandom(5))).toEqual([]);
  });

  it('are less sure of a ratio that stays a while where it is, where windows follow one another', () => {
    const level = new Array<number>(64).fill(10);
    const widthOf = (ratio: typeof bootstrapRatio, value: (at: number) => number): number => {
      const { low, high } = ratio(
        level.map((_, at) => value(at)),
        level,
        mean,
      );
      return high - low;
    };
    const slow = (at: number): number => 1 + (Math.floor(at / 8) % 2);
    expect(widthOf(bootstrapRatioOfWindows, slow)).toBeGreaterThan(1.5 * widthOf(bootstrapRatio, slow));
    // What is over at the next window is told of all the better.
    const quick = (at: number): number => 1 + (at % 2);
    expect(widthOf(bootstrapRatioOfWindows, quick)).toBeLessThan(widthOf(bootstrapRatio, quick));
    expect(bootstrapRatioOfWindows([2, 4, 6], [1, 2, 3], mean)).toEqual({ value: 2, low: 2, high: 2 });
    expect(() => bootstrapRatioOfWindows([1], [1, 2], mean)).toThrow(RangeError);
  });

  it('draw sides that were not paired each by itself, block by block', () => {
    const same = bootstrapRatioOfBlocks([[4, 4], [4]], [[2], [2, 2], [2]], median);
    expect(same).toEqual({ value: 2, low: 2, high: 2 });
    // Within a block all is alike: two blocks are two pieces of evidence, however long they are.
    const long = (value: number): number[] => new Array<number>(500).fill(value);
    const { low, high } = bootstrapRatioOfBlocks([long(1), long(3)], [long(1)], mean);
    expect({ low, high }).toEqual({ low: 1, high: 3 });
  });

  it('hold what never came against the side that missed it, and nothing against a side that shows nothing', () => {
    const never = Number.POSITIVE_INFINITY;
    expect(bootstrapRatioOfBlocks([[1, never]], [[1, 1]], mean)).toEqual({
      ...{ value: never, low: never, high: never },
    });
    expect(bootstrapRatioOfBlocks([[1, 1]], [[1, never]], mean).value).toBeNaN();
    expect(bootstrapRatioOfBlocks([[1]], [[], []], mean).high).toBeNaN();
    expect(bootstrapRatioOfBlocks([], [[1]], mean).high).toBeNaN();
  });
});
