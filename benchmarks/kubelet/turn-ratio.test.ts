import { expect, it } from 'vitest';
import { compareTurns, formatTurns, judgeTurns, valueOfTurn } from './turn-ratio.js';

const many = (value: number, count = 30): number[] => Array.from({ length: count }, () => value);

it('pairs turns by their number, and drops and counts those of one side alone', () => {
  const compared = compareTurns([100, undefined, 50, 50, undefined], [10, 1, 100, 100, undefined])!;
  expect([compared.turns, compared.dropped]).toEqual([3, 1]);
  expect(compared.ratio.value).toBe(0.5);
  expect(formatTurns(compared)).toBe('3 (1 dropped)');
  expect(compareTurns([1, undefined], [undefined, 1])).toBeUndefined();
});

it('judges by the worse end of the interval, and nothing from fewer than three turns', () => {
  expect(judgeTurns(compareTurns(many(50), many(100))!, 1)).toBe(true);
  expect(judgeTurns(compareTurns([...many(50, 16), ...many(200, 14)], many(100))!, 1)).toBe(false);
  expect(judgeTurns(compareTurns([50, 50], [100, 100])!, 1)).toBeUndefined();
});

it('takes what never came for longer than anything that did', () => {
  expect(valueOfTurn([20, Number.POSITIVE_INFINITY])).toBe(Number.POSITIVE_INFINITY);
  expect(valueOfTurn([])).toBeUndefined();
  const never = many(Number.POSITIVE_INFINITY);
  expect(judgeTurns(compareTurns(never, many(100))!, 1)).toBe(false);
  expect(judgeTurns(compareTurns(many(100), never)!, 1)).toBe(true);
});
