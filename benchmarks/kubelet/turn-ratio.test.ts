import { expect, it } from 'vitest';
import { compareTurns, formatTurns, judgeTurns, valueOfTurn } from './turn-ratio.js';

const many = (value: number, count = 30): number[] => Array.from({ length: count }, () => value);

it('pairs turns by their number, and drops and counts those of one side alone', () => {
  const compared = compareTurns([100, 7, 50, 50, undefined], [10, undefined, 100, 100, undefined])!;
  expect(compared).toMatchObject({ turns: 3, dropped: 1, failed: 0 });
  expect(compared.ratio.value).toBe(0.5);
  expect(formatTurns(compared)).toBe('3 (1 dropped)');
  expect(judgeTurns(compared, 3)).toBe(false);
  expect(compareTurns([1, undefined], [undefined, undefined])).toBeUndefined();
});

it('keeps no goal where a turn failed that the other side got through', () => {
  const compared = compareTurns([...many(50), undefined, 50], [...many(100), 100, undefined])!;
  expect(compared).toMatchObject({ turns: 30, dropped: 1, failed: 1 });
  expect(formatTurns(compared)).toBe('30 (1 dropped, 1 failed)');
  expect(judgeTurns(compared, 1)).toBe(false);
  expect(judgeTurns(compareTurns([undefined], [100])!, 1)).toBe(false);
});

it('judges by the worse end of the interval, and nothing from fewer than three turns', () => {
  expect(judgeTurns(compareTurns(many(50), many(100))!, 1)).toBe(true);
  expect(judgeTurns(compareTurns([...many(50, 16), ...many(200, 14)], many(100))!, 1)).toBe(false);
  expect(judgeTurns(compareTurns([50, 50], [100, 100])!, 1)).toBeUndefined();
});

it('shows the least and the largest ratio of few turns, and judges by the largest', () => {
  const few = compareTurns([50, 60, 110], [100, 100, 100])!;
  expect(few.ratio).toEqual({ value: 0.6, low: 0.5, high: 1.1 });
  expect(judgeTurns(few, 1)).toBe(false);
  expect(judgeTurns(few, 1.1)).toBe(true);
  const lost = compareTurns([50, 60, Number.POSITIVE_INFINITY], [100, 100, 100])!;
  expect(judgeTurns(lost, 10)).toBe(false);
});

it('takes what never came for longer than anything that did', () => {
  expect(valueOfTurn([20, Number.POSITIVE_INFINITY])).toBe(Number.POSITIVE_INFINITY);
  expect(valueOfTurn([])).toBeUndefined();
  const never = many(Number.POSITIVE_INFINITY);
  expect(judgeTurns(compareTurns(never, many(100))!, 1)).toBe(false);
  expect(judgeTurns(compareTurns(many(100), never)!, 1)).toBe(true);
});

it('judges nothing where neither side ever got there', () => {
  const never = many(Number.POSITIVE_INFINITY);
  expect(judgeTurns(compareTurns(never, never)!, 1)).toBeUndefined();
  // The middle between something and never is never.
  const half = [...many(10, 2), ...many(Number.POSITIVE_INFINITY, 2)];
  expect(judgeTurns(compareTurns(half, half)!, 1)).toBeUndefined();
});
