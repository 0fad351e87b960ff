import { expect, it } from 'vitest';
import { judgeForward } from './judge-forward.js';

const rounds = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

it.each([
  [30, 90, true],
  [30, 110, false],
  [29, 90, undefined],
])('judges %i rounds of %i ms beside 10 ms: %s', (count, ms, met) => {
  const figures = { connections: 100, directMs: rounds(count, 10), forwardedMs: rounds(count, ms) };
  expect(judgeForward(figures)).toMatchObject({ goal: '<= 10 x direct connections', met });
});
