import { spreadMs } from './format-values.js';
import { SINGLES_COMPARISONS } from './judge-singles.js';
import { type ContenderFigures } from './run-turns.js';
import { type SinglesFindings } from './singles-benchmark.js';
import { formatEnds, formatStageReport, formatUnknownEnds } from './stage-report.js';

/** An agent that has just been started has yet to run most of its code for the first time. */
const FIRST = 2;

/** The section of the results page. */
export function formatSinglesReport(figures: readonly ContenderFigures<SinglesFindings>[]): string {
  return formatStageReport(figures, {
    words: `Pods are started and killed one at a time, by an agent that is started anew in each turn. Milliseconds are p50 / p99 / longest;
brackets hold the 95 % interval of the turns’ medians, or the least and the largest ratio of a turn where there are fewer than ten.`,
    comparisons: SINGLES_COMPARISONS,
    rows: [
      [
        `started: the first ${FIRST} pods of each agent, not judged`,
        (rounds) => formatFirst(rounds.map(({ podStartsMs = [] }) => podStartsMs)),
      ],
      [
        `told of: the first ${FIRST} ends of each agent, not judged`,
        (rounds) => formatFirst(rounds.map(({ deaths }) => deaths?.toEventMs ?? [])),
      ],
      ['missed, told of twice', (rounds) => formatEnds(rounds.flatMap(({ deaths = [] }) => deaths))],
      [
        'ends whose time was collected before it was read',
        (rounds) => formatUnknownEnds(rounds.flatMap(({ deaths = [] }) => deaths)),
      ],
    ],
  });
}

function formatFirst(turns: readonly (readonly number[])[]): string {
  return spreadMs(turns.flatMap((values) => values.slice(0, FIRST)));
}
