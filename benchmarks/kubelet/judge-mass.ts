import { type Goal } from '../goals.js';
import { mebibytes, percent, seconds } from './format-values.js';
import { type Comparison, judgeComparisons } from './judge.js';
import {
  type Ends,
  judgeEach,
  judgeEnds,
  judgeFailures,
  longest,
  longestOf,
  withMissed,
} from './judge-rounds.js';
import { type MassFindings } from './mass-benchmark.js';
import { type ContenderFigures } from './run-turns.js';
import { LEAST_TURNS } from './turn-ratio.js';

/** Each death of many must be told of within so long of the last look that did not show it. */
const DEATH_LIMIT_MS = 1_000;

/** All that is a ratio, in the order of the page. What was missed, or never came, took for ever. */
export const MASS_COMPARISONS: readonly Comparison<MassFindings>[] = [
  {
    ...{ what: 'many pods at once, all running', limit: 1, words: 'not slower' },
    format: seconds,
    values: ({ massStart }) => (massStart === undefined ? [] : [massStart.allRunningMs]),
  },
  {
    ...{ what: 'many pods at once, own CPU', limit: 1, words: 'not more' },
    format: seconds,
    values: ({ massStart }) => (massStart === undefined ? [] : [massStart.cpuMs]),
  },
  {
    ...{ what: 'all killed at once, last death told', limit: 0.5, words: '<= half' },
    format: seconds,
    values: ({ massKill }) => (massKill === undefined ? [] : longest(massKill.toEventMs, massKill.missed)),
    countUnknown: ({ massKill }) => massKill?.unknownEnds ?? 0,
  },
  {
    ...{ what: 'all killed at once, all running again', limit: 1, words: 'not slower' },
    format: seconds,
    values: ({ massKill }) =>
      massKill === undefined ? [] : longest(massKill.toReplacementMs, massKill.notReplaced),
    countUnknown: ({ massKill }) => massKill?.unknownEnds ?? 0,
  },
  {
    ...{ what: 'idle, CPU', limit: 1 / 6, words: '<= 1/6' },
    format: percent,
    values: ({ idle }) => (idle === undefined ? [] : [idle.cpuPercent]),
  },
  {
    ...{ what: 'idle, memory', limit: 1, words: 'not more' },
    format: mebibytes,
    values: ({ idle }) => (idle === undefined ? [] : [idle.rssMiB]),
  },
];

/** podloop against the better of the kubelet's two. */
export function judgeMass(figures: readonly ContenderFigures<MassFindings>[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const { rounds } = podloop;
  const records = rounds.flatMap(({ massKill }) =>
    massKill === undefined ? [] : [withMissed(massKill.recordToEventMs, massKill.missed)],
  );
  const restarts = rounds.flatMap(({ restart = [] }) => restart);
  return [
    ...judgeComparisons(podloop, kubelets, MASS_COMPARISONS),
    judgeEnds(rounds.map(endsOf)),
    longestOf({
      what: 'all killed at once, longest from a record to its event',
      all: records,
      limitMs: DEATH_LIMIT_MS,
      words:
        'of the last list of the runtime’s that does not show the end (when it says that the process ended is long before)',
      ...{ unit: 'turns', least: LEAST_TURNS },
    }),
    judgeEach({
      what: 'back on a full node: healthy, nothing disturbed, what is killed then told of and replaced',
      words: 'all of it',
      all: restarts,
      holds: ({ healthyMs, isHealthyAtEnd, disturbed, deaths }) =>
        healthyMs !== undefined &&
        isHealthyAtEnd &&
        disturbed === 0 &&
        deaths.missed === 0 &&
        deaths.notReplaced === 0,
      ...{ unit: 'restarts', least: LEAST_TURNS },
    }),
    judgeFailures(rounds),
  ];
}

/** Of all ends in a turn: all at once, and after the restart. */
function endsOf({ massKill, restart }: MassFindings): Ends[] {
  return [massKill, restart?.deaths].filter((each) => each !== undefined);
}
