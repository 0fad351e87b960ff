import { SINGLES_COMPARISONS } from './judge-singles.js';
import { type ContenderFigures } from './run-turns.js';
import { type SinglesFindings } from './singles-benchmark.js';
import { formatEnds, formatStageReport, formatUnknownEnds } from './stage-report.js';

/** The section of the results page. */
export function formatSinglesReport(figures: readonly ContenderFigures<SinglesFindings>[]): string {
  return formatStageReport(figures, {
    words: `Pods are started and killed one at a time. Milliseconds are p50 / p99 / longest; intervals are there
where there are several values.`,
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
