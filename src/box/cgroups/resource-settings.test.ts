import { expect, it } from 'vitest';
import { toCpuWeight } from './resource-settings.js';

it.each([
  [0, 1],
  [2, 1],
  [102, 17],
  [1024, 100],
  [2048, 174],
  [262_144, 10_000],
  [1_000_000, 10_000],
])('a CPU share of %d is a weight of %d', (shares, weight) => {
  expect(toCpuWeight(shares)).toBe(weight);
});
