import { expect, it } from 'vitest';
import { atMost, formatNumber, LEAST_ROUNDS, ratioAtLeast, ratioAtMost, verdictOf } from './goals.js';

const ratioOf = (value: number, low: number, high: number, limit: number, rounds = LEAST_ROUNDS) => ({
  ...{ what: 'relist', of: 'the bare lists', limit, rounds },
  ratio: { value, low, high },
});

it('judges a ratio by the end of its interval that is worse', () => {
  expect(ratioAtMost(ratioOf(1.1, 1.05, 1.2, 1.15))).toEqual({
    what: 'relist',
    goal: '<= 1.15 x the bare lists',
    measured: '1.100 [1.050, 1.200]',
    met: false,
  });
  expect(ratioAtMost(ratioOf(1.1, 1.05, 1.2, 1.2)).met).toBe(true);
  expect(ratioAtLeast(ratioOf(1.1, 1.05, 1.2, 1.06)).met).toBe(false);
  expect(ratioAtLeast(ratioOf(1.1, 1.05, 1.2, 1.05)).met).toBe(true);
});

it('judges nothing of fewer rounds than make an interval, and says so', () => {
  for (const judge of [ratioAtMost, ratioAtLeast]) {
    expect(judge(ratioOf(1, 1, 1, 1, 29))).toMatchObject({ met: undefined, unjudged: '29 rounds' });
    expect(judge(ratioOf(1, 1, 1, 1, 30)).met).toBe(true);
    expect(judge({ ...ratioOf(1, 1, 1, 1, 4), least: 4, counted: 'turns' }).met).toBe(true);
  }
  const one = ratioAtMost({ ...ratioOf(1, 1, 1, 1, 1), counted: 'windows' });
  expect(verdictOf(one)).toBe('not judged: 1 window');
});

it('judges nothing that was not measured, and takes what never came for missed', () => {
  expect(ratioAtMost(ratioOf(Number.NaN, Number.NaN, Number.NaN, 1)).met).toBeUndefined();
  expect(ratioAtMost(ratioOf(Number.NaN, 1, 2, 3)).met).toBeUndefined();
  expect(ratioAtMost(ratioOf(2, 1, Number.POSITIVE_INFINITY, 3)).met).toBe(false);
  expect(ratioAtMost(ratioOf(Number.POSITIVE_INFINITY, 1, Number.POSITIVE_INFINITY, 3)).met).toBe(false);
  expect(atMost('a', Number.NaN, 1).met).toBeUndefined();
});

it('says in a word what came of a goal', () => {
  expect([true, false, undefined].map((met) => verdictOf({ met }))).toEqual(['yes', 'no', 'not judged']);
});

it('judges a number by itself', () => {
  expect(atMost('events lost', 0, 0)).toMatchObject({ goal: '<= 0', measured: '0', met: true });
  expect(atMost('slice', 10.26, 10, 'ms')).toMatchObject({ measured: '10.3 ms', met: false });
  expect([1234.56, 0.12345, 1.234].map(formatNumber)).toEqual(['1235', '0.123', '1.23']);
});
