import { SINGLES_COMPARISONS } from './judge-singles.js';
import { type ContenderFigures } from './run-turns.js';
import { type SinglesFindings } from './singles-benchmark.js';
import { formatEnds, formatStageReport, formatUnknownEnds } from './stage-report.js';

/** The section of the results page. */
export function formatSinglesReport(figures: readonly ContenderFigures<SinglesFindings>[]): string {
  return formatStageReport(figures, {
    words: `Pods are started and killed one at a time. Milliseconds are p50 / p99 / longest; brackets hold
the 95 % interval of the turns’ medians, or the least and the largest ratio of a turn where there are fewer than ten.`,
    comparisons: SINGLES_COMPARISONS,
    rows: [
      ['missed, told of twice', (rounds) => formatEnds(rounds.flatMap(({ deaths = [] }) => deaths))],
      [
        'ends whose time was collected before it was read',
        (rounds) => formatUnknownEnds(rounds.flatMap(({ deaths = [] }) => deaths)),
      ],
    ],
  });
}
