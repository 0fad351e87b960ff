import { expect, it } from 'vitest';
import { formatComparisons } from './format-comparisons.js';
import { seconds } from './format-values.js';
import { type Comparison } from './judge.js';

interface Found {
  readonly ms?: readonly number[];
}

const COMPARISON: Comparison<Found> = {
  ...{ what: 'all of it', limit: 0.5, words: '<= half' },
  format: seconds,
  values: ({ ms = [] }) => ms,
};
const contender = (name: string, ...ms: number[]) => ({
  name,
  rounds: [1, 2, 3].map(() => (ms.length === 0 ? {} : { ms })),
});
/** The cells of each line but the rule. */
const cellsOf = (table: string): string[][] =>
  table
    .split('\n')
    .filter((_, at) => at !== 1)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

it('holds the first against the better of the others, whom it names when told to', () => {
  const figures = [contender('podloop', 1_000), contender('slow', 9_000), contender('fast', 2_000)];
  const [values, verdict] = [
    ['1.0 s', '9.0 s', '2.0 s'],
    ['0.500', '3', '<= half', 'yes'],
  ];
  expect(cellsOf(formatComparisons(figures, [COMPARISON]))).toEqual([
    ['what', 'podloop', 'slow', 'fast', 'ratio', 'turns', 'goal', 'kept'],
    ['all of it', ...values, ...verdict],
  ]);
  expect(cellsOf(formatComparisons(figures, [COMPARISON], { namesBetter: true }))).toEqual([
    ['what', 'podloop', 'slow', 'fast', 'better', 'ratio', 'turns', 'goal', 'kept'],
    ['all of it', ...values, 'fast', ...verdict],
  ]);
});

it('says so when a goal is missed, and when nobody’s value is there to judge by', () => {
  const rowOf = (...figures: ReturnType<typeof contender>[]) =>
    cellsOf(formatComparisons(figures, [COMPARISON], { namesBetter: true }))[1];
  expect(rowOf(contender('podloop', 1_001), contender('kubelet', 2_000))?.slice(-2)).toEqual([
    '<= half',
    '**no**',
  ]);
  expect(rowOf(contender('podloop', 1_000), contender('failed'))).toEqual([
    ...['all of it', '1.0 s', 'none', 'none'],
    ...['', '0', '<= half', 'not judged'],
  ]);
});

it('takes what never came for longer than anything that did', () => {
  const never = contender('podloop', 1_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  const row = cellsOf(formatComparisons([never, contender('kubelet', 9_000, 9_000, 9_000)], [COMPARISON]))[1];
  expect(row).toEqual(['all of it', '1.0 s, and some never', '9.0 s', '∞', '3', '<= half', '**no**']);
});
