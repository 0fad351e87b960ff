import { expect, it } from 'vitest';
import { busyCores } from './busy-cores.js';

it('counts the cores that were busy between two moments', () => {
  const before = { idleMs: 100_000, allMs: 150_000 };
  expect(busyCores(before, { idleMs: 104_500, allMs: 156_000 }, 2)).toBe(0.5);
  expect(busyCores(before, { idleMs: 106_000, allMs: 156_000 }, 2)).toBe(0);
  expect(busyCores(before, before, 2)).toBe(0);
});
