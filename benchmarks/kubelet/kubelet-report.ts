import { formatTable } from '../text-table.js';
import { formatComparisons } from './format-comparisons.js';
import { formatFailures, formatValues, seconds, spreadMs } from './format-values.js';
import { COMPARISONS } from './judge.js';
import { type ContenderFigures, type Findings } from './kubelet-benchmark.js';

type Cell = (rounds: readonly Findings[]) => string;

/** The section of the results page. */
export function formatKubeletReport(figures: readonly ContenderFigures[]): string {
  const names = figures.map(({ name }) => name);
  return `podloop in its default mode, and a kubelet with its generator that only relists and with events on, each on a containerd of its own with
pods of one container on the host's network, in turns. Milliseconds are p50 / p99 / longest; seconds, shares of a core and MiB are
medians of the turns; intervals are there where there are several values. Times of containers are the runtime's records,
those of events the lines of the agents' logs. The ratio is podloop's to the better of the kubelet's two: of the medians of turns, of which
each is the median of its pods. Fewer than three turns are not judged; one that failed on the kubelet's side is dropped on both, and one
that failed on podloop's misses the goal.

${formatComparisons(figures, COMPARISONS, { namesBetter: true })}

Besides:

${formatTable(
  ['what', ...names],
  BESIDES.map(([what, of]) => [what, ...figures.map(({ rounds }) => of(rounds))]),
)}
${formatFailures(figures)}`;
}

const BESIDES: readonly [what: string, of: Cell][] = [
  [
    'ends one at a time: missed, told of twice',
    (rounds) => sums(rounds.flatMap(({ deaths = [] }) => deaths).map((each) => [each.missed, each.repeated])),
  ],
  [
    'all killed at once: missed, told of twice',
    (rounds) =>
      sums(rounds.flatMap(({ massKill = [] }) => massKill).map((each) => [each.missed, each.repeated])),
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
      String(
        rounds
          .flatMap(({ deaths, massKill, restart }) => [deaths, massKill, restart?.deaths])
          .reduce((sum, each) => sum + (each?.unknownEnds ?? 0), 0),
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
  ...[1, 3].flatMap((hungPods): [string, Cell][] => {
    const of =
      (cell: (found: NonNullable<Findings['hung']>) => string): Cell =>
      (rounds) => {
        const found = rounds.flatMap(({ hung = [] }) => hung.filter((each) => each.hungPods === hungPods));
        return found.length === 0 ? 'none' : cell(found);
      };
    const calls = `calls about ${hungPods} of 20 pods hang`;
    return [
      [
        `${calls}: others’ deaths, ms; missed`,
        of((found) => {
          const missed = found.reduce((sum, each) => sum + each.missed, 0);
          const toEventMs = found.flatMap((each) => each.toEventMs);
          const untried = found.some(({ heldCalls }) => heldCalls === 0) ? ' (**nothing hung**)' : '';
          return `${formatValues(toEventMs, spreadMs)}; ${missed} of ${found.reduce((sum, { deaths }) => sum + deaths, 0)}${untried}`;
        }),
      ],
      [
        `${calls}: for, s; unhealthy first after, s; calls held; hung pods named`,
        of((found) =>
          found
            .map(({ hungForMs, firstUnhealthyMs, heldCalls, named }) =>
              [
                (hungForMs / 1_000).toFixed(0),
                firstUnhealthyMs === undefined ? 'never' : (firstUnhealthyMs / 1_000).toFixed(0),
                heldCalls === 0 ? '**none: nothing hung**' : heldCalls,
                named ?? 'no page',
              ].join('; '),
            )
            .join(' · '),
        ),
      ],
    ];
  }),
];

function ofRestarts(cell: (restart: NonNullable<Findings['restart']>) => string): Cell {
  return (rounds) =>
    rounds
      .flatMap(({ restart = [] }) => restart)
      .map(cell)
      .join(' · ') || 'none';
}

function sums(pairs: readonly (readonly [number, number])[]): string {
  return [0, 1].map((at) => pairs.reduce((sum, pair) => sum + pair[at]!, 0)).join(', ');
}

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}
