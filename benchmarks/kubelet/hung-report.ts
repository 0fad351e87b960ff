import { formatValues, spreadMs } from './format-values.js';
import { HUNG, HUNG_PODS, type HungFindings } from './hung-benchmark.js';
import { type HungPodFigures } from './hung-pods.js';
import { type ContenderFigures } from './run-turns.js';
import { type Cell, formatStageReport } from './stage-report.js';

/** The section of the results page. */
export function formatHungReport(figures: readonly ContenderFigures<HungFindings>[]): string {
  return formatStageReport(figures, {
    words: `All their calls go through \`podloop chaos\`, which holds the status calls about some of the pods while
containers of others are killed; in the first turn it holds none, which shows what is usual. Milliseconds are p50 / p99 / longest.`,
    rows: HUNG_PODS.flatMap((hungPods) => [
      [deathsOf(hungPods), ofTurn(hungPods, formatDeaths)] as const,
      ...(hungPods === 0
        ? []
        : [
            [
              `${callsAbout(hungPods)}: for, s; unhealthy first after, s; calls held; hung pods named`,
              ofTurn(hungPods, formatHangs),
            ] as const,
          ]),
    ]),
  });
}

function deathsOf(hungPods: number): string {
  return hungPods === 0
    ? `nothing hangs, ${HUNG.pods} pods: deaths, ms; missed`
    : `${callsAbout(hungPods)}: others’ deaths, ms; missed`;
}

function callsAbout(hungPods: number): string {
  return `calls about ${hungPods} of ${HUNG.pods} pods hang`;
}

function ofTurn(hungPods: number, cell: (found: readonly HungPodFigures[]) => string): Cell<HungFindings> {
  return (rounds) => {
    const found = rounds.flatMap(({ hung = [] }) => hung.filter((each) => each.hungPods === hungPods));
    return found.length === 0 ? 'none' : cell(found);
  };
}

function formatDeaths(found: readonly HungPodFigures[]): string {
  const missed = found.reduce((sum, each) => sum + each.missed, 0);
  const toEventMs = found.flatMap((each) => each.toEventMs);
  const isUntried = found.some(({ hungPods, heldCalls }) => hungPods > 0 && heldCalls === 0);
  const untried = isUntried ? ' (**nothing hung**)' : '';
  return `${formatValues(toEventMs, spreadMs)}; ${missed} of ${found.reduce((sum, { deaths }) => sum + deaths, 0)}${untried}`;
}

function formatHangs(found: readonly HungPodFigures[]): string {
  return found
    .map(({ hungForMs, firstUnhealthyMs, heldCalls, named }) =>
      [
        (hungForMs / 1_000).toFixed(0),
        firstUnhealthyMs === undefined ? 'never' : (firstUnhealthyMs / 1_000).toFixed(0),
        heldCalls === 0 ? '**none: nothing hung**' : heldCalls,
        named ?? 'no page',
      ].join('; '),
    )
    .join(' · ');
}
