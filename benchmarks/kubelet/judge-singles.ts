import { type Goal } from '../goals.js';
import { spreadMs } from './format-values.js';
import { type Comparison, judgeComparisons } from './judge.js';
import { judgeEnds, judgeFailures, withMissed } from './judge-rounds.js';
import { type ContenderFigures } from './run-turns.js';
import { type SinglesFindings } from './singles-benchmark.js';

/** All that is a ratio, in the order of the page. What was missed, or never came, took for ever. */
export const SINGLES_COMPARISONS: readonly Comparison<SinglesFindings>[] = [
  {
    ...{ what: 'manifest written to container started', limit: 1, words: 'not slower' },
    format: spreadMs,
    values: ({ podStartsMs = [] }) => podStartsMs,
  },
  {
    ...{ what: 'end of a process to its event', limit: 1, words: 'faster' },
    format: spreadMs,
    values: ({ deaths }) => (deaths === undefined ? [] : withMissed(deaths.toEventMs, deaths.missed)),
    countUnknown: ({ deaths }) => deaths?.unknownEnds ?? 0,
  },
  {
    ...{ what: 'end of a process to its replacement', limit: 1, words: 'not slower' },
    format: spreadMs,
    values: ({ deaths }) =>
      deaths === undefined ? [] : withMissed(deaths.toReplacementMs, deaths.notReplaced),
    countUnknown: ({ deaths }) => deaths?.unknownEnds ?? 0,
  },
];

/** podloop against the better of the kubelet's two. */
export function judgeSingles(figures: readonly ContenderFigures<SinglesFindings>[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const { rounds } = podloop;
  return [
    ...judgeComparisons(podloop, kubelets, SINGLES_COMPARISONS),
    judgeEnds(rounds.map(({ deaths }) => (deaths === undefined ? [] : [deaths]))),
    judgeFailures(rounds),
  ];
}
