import { expect, it } from 'vitest';
import { untilNextBeatMs } from './beat.js';

const at = (monotonicMs: number): number => untilNextBeatMs({ monotonicMs: () => monotonicMs }, 1_000);

it('brings those that began at different times to the same time', () => {
  expect(at(5_000)).toBe(1_000);
  expect(at(5_250)).toBe(750);
  expect(at(5_700.25)).toBe(300);
});

it('does not come twice when a timer fires a little early', () => {
  expect(at(5_999.5)).toBe(1_001);
});
