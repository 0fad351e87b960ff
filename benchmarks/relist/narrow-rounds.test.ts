import { expect, it } from 'vitest';
import { createRandom } from '../stats.js';
import { isNarrow } from './narrow-rounds.js';

it('is satisfied with many rounds, or with thirty that are alike', () => {
  const random = createRandom(1);
  const noisy = (rounds: number) => ({ wallMs: Array.from({ length: rounds }, () => 1 + random()) });
  expect(isNarrow(noisy(30), noisy(30))).toBe(false);
  expect(isNarrow(noisy(3_000), noisy(3_000))).toBe(true);
  const alike = (rounds: number) => ({ wallMs: Array.from({ length: rounds }, () => 1) });
  expect(isNarrow(alike(30), alike(30))).toBe(true);
  expect(isNarrow(alike(29), alike(29))).toBe(false);
});
