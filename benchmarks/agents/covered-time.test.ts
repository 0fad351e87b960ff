import { expect, it } from 'vitest';
import { coveredMs } from './covered-time.js';

const span = (beganMs: number, endedMs: number) => ({ beganMs, endedMs });

it('counts what several spans cover once', () => {
  expect(coveredMs([span(30, 40), span(10, 20), span(15, 35), span(50, 60)], 0, 100)).toBe(40);
  expect(coveredMs([span(10, 90), span(20, 30)], 0, 100)).toBe(80);
});

it('counts only what lies between the two moments', () => {
  expect(coveredMs([span(0, 12), span(18, 30)], 10, 20)).toBe(4);
  expect(coveredMs([span(0, 5), span(25, 30)], 10, 20)).toBe(0);
  expect(coveredMs([], 10, 20)).toBe(0);
});
