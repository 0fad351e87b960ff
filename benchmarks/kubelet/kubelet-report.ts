import { formatTable } from '../text-table.js';
import { median, quantile } from '../stats.js';
import { type ContenderFigures, type ContenderRound } from './kubelet-benchmark.js';

/** The section of the results page. */
export function formatKubeletReport(figures: readonly ContenderFigures[]): string {
  const rows: [what: string, of: (rounds: readonly ContenderRound[]) => string][] = [
    [
      'manifest written to container started, ms',
      (rounds) => spread(rounds.flatMap((each) => each.podStartsMs)),
    ],
    [
      'end of a process to its event, ms',
      (rounds) => spread(rounds.flatMap(({ deaths }) => deaths.toEventMs)),
    ],
    [
      'of these missed, told of twice',
      (rounds) => counts(rounds.map(({ deaths }) => [deaths.missed, deaths.repeated])),
    ],
    [
      'end of a process to its replacement, ms',
      (rounds) => spread(rounds.flatMap(({ deaths }) => deaths.toReplacementMs)),
    ],
    [
      'many pods at once, all running, s',
      (rounds) => seconds(rounds.map(({ massStart }) => massStart.allRunningMs)),
    ],
    ['many pods at once, own CPU, s', (rounds) => seconds(rounds.map(({ massStart }) => massStart.cpuMs))],
    ['idle, CPU, % of a core', (rounds) => median(rounds.map(({ idle }) => idle.cpuPercent)).toFixed(2)],
    ['idle, memory, MiB', (rounds) => median(rounds.map(({ idle }) => idle.rssMiB)).toFixed(0)],
    [
      'all killed at once, record to event, ms',
      (rounds) => spread(rounds.flatMap(({ massKill }) => massKill.toEventMs)),
    ],
    [
      'of these missed, told of twice',
      (rounds) => counts(rounds.map(({ massKill }) => [massKill.missed, massKill.repeated])),
    ],
    [
      'all killed at once, all running again, s',
      (rounds) => seconds(rounds.map(({ massKill }) => Math.max(...massKill.toReplacementMs))),
    ],
    [
      'back on a full node, to healthy, s',
      (rounds) => seconds(rounds.map(({ restart }) => restart.healthyMs ?? Number.NaN)),
    ],
    [
      'there, killed after that: told of, replaced',
      (rounds) =>
        rounds
          .map(
            ({ restart: { deaths } }) =>
              `${deaths.toEventMs.length}, ${deaths.toReplacementMs.length} of ${deaths.killed}`,
          )
          .join('; '),
    ],
    ...[1, 3].map((hungPods): [string, (rounds: readonly ContenderRound[]) => string] => [
      `calls about ${hungPods} of 20 pods hang: others' deaths, ms; missed; healthy`,
      (rounds) => {
        const own = rounds.flatMap(({ hung }) => hung.filter((each) => each.hungPods === hungPods));
        const missed = own.reduce((sum, each) => sum + each.missed, 0);
        const healthy = own.every(({ isHealthyAtEnd }) => isHealthyAtEnd) ? 'yes' : 'no';
        return `${spread(own.flatMap(({ toEventMs }) => toEventMs))}; ${missed}; ${healthy}`;
      },
    ]),
  ];
  return `podloop in its default mode, and a kubelet with its generator that only relists and with events on, each on a containerd of its own with
pods of one container on the host's network, in turns. Spreads are p50, p99 and the longest. Times of containers are the
runtime's records, those of events the lines of the agents' logs.

${formatTable(
  ['what', ...figures.map(({ name }) => name)],
  rows.map(([what, of]) => [what, ...figures.map(({ rounds }) => of(rounds))]),
)}
`;
}

function spread(values: readonly number[]): string {
  if (values.length === 0) return 'none';
  return [median(values), quantile(values, 0.99), quantile(values, 1)].map((ms) => ms.toFixed(0)).join(' / ');
}

function seconds(valuesMs: readonly number[]): string {
  const value = median(valuesMs);
  return Number.isFinite(value) ? (value / 1_000).toFixed(1) : 'never';
}

function counts(pairs: readonly (readonly [number, number])[]): string {
  return [0, 1].map((at) => pairs.reduce((sum, pair) => sum + pair[at]!, 0)).join(', ');
}
