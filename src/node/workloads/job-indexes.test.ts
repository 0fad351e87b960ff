import { expect, it } from 'vitest';
import { matchSuccessPolicy } from './job-indexes.js';

it('a rule for success is met by all of its indexes, or by enough of them', () => {
  const match = (succeededIndexes: string, succeeded: readonly number[], succeededCount?: number) => {
    const rule = { succeededIndexes, ...(succeededCount === undefined ? {} : { succeededCount }) };
    return matchSuccessPolicy({ successPolicy: { rules: [rule] }, completions: 10 }, succeeded);
  };
  const met = 'Matched rules at index 0';
  expect(match('1,3-5', [0, 1, 3, 4, 5, 9])).toBe(met);
  expect(match('1,3-5', [0, 1, 3, 5, 9])).toBeUndefined();
  expect(match('1,3-5', [0, 1, 3, 5, 9], 3)).toBe(met);
  expect(match('1,3-5', [0, 2, 5, 9], 2)).toBeUndefined();
});

it('the rules of a policy are parsed once, and again for another number of completions', () => {
  let reads = 0;
  const rule = {
    get succeededIndexes() {
      reads++;
      return '0-1,3';
    },
  };
  const successPolicy = { rules: [rule] };
  const match = (completions: number) => matchSuccessPolicy({ successPolicy, completions }, [0, 1]);
  expect([match(4), match(4), match(4)]).toEqual([undefined, undefined, undefined]);
  expect(reads).toBe(1);
  match(5);
  expect(reads).toBe(2);
});
