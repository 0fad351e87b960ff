import { formatValues, seconds, spreadMs } from './format-values.js';
import { MASS_COMPARISONS } from './judge-mass.js';
import { type MassFindings } from './mass-benchmark.js';
import { type RestartFigures } from './mass-phases.js';
import { type ContenderFigures } from './run-turns.js';
import { type Cell, formatEnds, formatStageReport, formatUnknownEnds } from './stage-report.js';

/** The section of the results page. */
export function formatMassReport(figures: readonly ContenderFigures<MassFindings>[]): string {
  return formatStageReport(figures, {
    words: `Many pods are put down, idle, are killed at once, and an agent comes back to them. Milliseconds are
p50 / p99 / longest; seconds, shares of a core and MiB are medians of the turns; brackets hold the least and the
largest ratio of a turn, from ten turns on a 95 % interval. CPU and memory are those of the agent with all that it has started.`,
    comparisons: MASS_COMPARISONS,
    rows: ROWS,
  });
}

const ROWS: readonly (readonly [what: string, of: Cell<MassFindings>])[] = [
  [
    'all killed at once: missed, told of twice',
    (rounds) => formatEnds(rounds.flatMap(({ massKill = [] }) => massKill)),
  ],
  [
    'all killed at once: from the last look that does not show an end to its event, ms',
    (rounds) =>
      formatValues(
        rounds.flatMap(({ massKill }) => massKill?.recordToEventMs ?? []),
        spreadMs,
      ),
  ],
  [
    'all killed at once: the last end is shown by the runtime after, s',
    (rounds) =>
      formatValues(
        rounds.flatMap(({ massKill }) => (massKill === undefined ? [] : [Math.max(...massKill.toShownMs)])),
        seconds,
      ),
  ],
  [
    'back on a full node: running, ended containers',
    ofRestarts(({ running, exited }) => `${running}, ${exited}`),
  ],
  [
    'back on a full node: healthy after, s; at the end',
    ofRestarts(
      ({ healthyMs, isHealthyAtEnd }) =>
        `${healthyMs === undefined ? 'never' : (healthyMs / 1_000).toFixed(1)}; ${yesNo(isHealthyAtEnd)}`,
    ),
  ],
  [
    'back on a full node: in step, all that was killed then replaced after, s',
    ofRestarts(({ deaths: { notReplaced, toReplacementMs } }) =>
      notReplaced > 0 ? 'never' : (Math.max(...toReplacementMs, 0) / 1_000).toFixed(1),
    ),
  ],
  [
    'ends whose time was collected before it was read',
    (rounds) =>
      formatUnknownEnds(
        rounds.flatMap(({ massKill, restart }) =>
          [massKill, restart?.deaths].filter((each) => each !== undefined),
        ),
      ),
  ],
  ['back on a full node: containers disturbed', ofRestarts(({ disturbed }) => String(disturbed))],
  [
    'killed after that: told of, told of twice, replaced',
    ofRestarts(
      ({ deaths: { killed, missed, repeated, notReplaced } }) =>
        `${killed - missed}, ${repeated}, ${killed - notReplaced} of ${killed}`,
    ),
  ],
];

function ofRestarts(cell: (restart: RestartFigures) => string): Cell<MassFindings> {
  return (rounds) =>
    rounds
      .flatMap(({ restart = [] }) => restart)
      .map(cell)
      .join(' · ') || 'none';
}

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}
