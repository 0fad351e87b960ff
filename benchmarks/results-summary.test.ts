import { expect, it } from 'vitest';
import { judgeComparisons } from './kubelet/judge.js';
import { summarizeResults } from './results-summary.js';

const goal = (what: string, measured: string, met: boolean | undefined) => ({
  what,
  goal: 'not slower',
  measured,
  met,
});
const linesOf = (summary: string): string[] => summary.split('\n').map((line) => line.slice('- **'.length));

it('sorts comparisons with the kubelet by their intervals, whatever the goal was', () => {
  const results = [
    {
      title: 'One at a time',
      goals: [
        goal('start', '1.098 [1.046, 1.130] times the kubelet’s, turns: 10', false),
        goal('event', '1.034 [0.931, 1.096] times the kubelet’s, turns: 10', false),
        goal('never', '∞ [∞, ∞] times the kubelet’s, turns: 3', false),
        goal('touching', '0.900 [0.800, 1.000] times the kubelet’s, turns: 3', true),
        goal('ends', '120 of 120 ends', true),
      ],
    },
    {
      title: 'Many',
      goals: [
        goal('idle', '0.036 times the kubelet’s, turns: 3', true),
        goal('few', '0.500 times the kubelet’s, turns: 2', undefined),
      ],
    },
  ];
  expect(linesOf(summarizeResults(results, [{ title: 'Later' }]))).toEqual([
    'Better than the kubelet:** Many: idle 0.036.',
    'Equal:** One at a time: event 1.034 [0.931, 1.096]; touching 0.900 [0.800, 1.000].',
    'Worse:** One at a time: start 1.098 [1.046, 1.130]; never ∞.',
    'Not judged:** Many: 1 goal. Later: not run yet.',
    expect.stringMatching(/^How to read it:\*\* /),
  ]);
});

it('says nothing where nothing was measured', () => {
  const lines = linesOf(summarizeResults([], []));
  expect(lines.slice(0, 4).map((line) => line.split(':** ')[1])).toEqual(Array(4).fill('nothing.'));
});

it('reads what comparisons write', () => {
  const rounds = (value: number) => ({ rounds: Array.from({ length: 3 }, () => value) });
  const comparison = {
    what: 'w',
    values: (found: number) => [found],
    format: String,
    limit: 1,
    words: 'not slower',
  };
  const goals = judgeComparisons(rounds(1), [rounds(2), rounds(4)], [comparison]);
  expect(linesOf(summarizeResults([{ title: 'T', goals }], []))[0]).toBe(
    'Better than the kubelet:** T: w 0.500.',
  );
});
