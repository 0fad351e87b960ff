import { expect, it } from 'vitest';
import { untilNextBeatMs } from './beat.js';

const at = (monotonicMs: number): number => untilNextBeatMs({ monotonicMs: () => monotonicMs }, 1_000);

it('synchronizes callers that began at different times', () => {
  expect(at(5_000)).toBe(1_000);
  expect(at(5_250)).toBe(750);
  expect(at(5_700.25)).toBe(300);
});

it('does not occur twice when a timer fires slightly early', () => {
  expect(at(5_999.5)).toBe(1_001);
});
