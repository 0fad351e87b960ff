import { atMost, formatEstimate, formatNumber, type Goal } from '../goals.js';
import { bootstrapRatio, type Estimate, median } from '../stats.js';
import { type ContenderFigures, type ContenderRound } from './kubelet-benchmark.js';

/** Each death of many must be told of within so long of the runtime's record of it. */
const DEATH_LIMIT_MS = 1_000;
/** Beyond the usual delay of an event, that much is nobody's fault. */
const HUNG_SLACK_MS = 250;

type Values = (round: ContenderRound) => readonly number[];

/** podloop against the better of the kubelet's two. */
export function judgeKubelet(figures: readonly ContenderFigures[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const against = (what: string, values: Values, limit: number, words: string): Goal => {
    const ratio = ratioToBest(podloop, kubelets, values);
    return {
      ...{ what, goal: words },
      measured: `${formatEstimate(ratio)} times the kubelet’s`,
      met: Number.isFinite(ratio.high) ? ratio.high <= limit : undefined,
    };
  };
  const { rounds } = podloop;
  const sum = (value: (round: ContenderRound) => number): number =>
    rounds.reduce((total, round) => total + value(round), 0);
  const usualMs = median(rounds.flatMap(({ deaths }) => deaths.toEventMs));
  const hungMs = rounds.flatMap(({ hung }) => hung.flatMap(({ toEventMs }) => toEventMs));
  return [
    against('manifest written to container started', ({ podStartsMs }) => podStartsMs, 1, 'not slower'),
    against('end of a process to its event', ({ deaths }) => deaths.toEventMs, 1, 'faster'),
    atMost(
      'ends told of twice',
      sum(({ deaths, massKill }) => deaths.repeated + massKill.repeated),
      0,
    ),
    against('end of a process to its replacement', ({ deaths }) => deaths.toReplacementMs, 1, 'not slower'),
    against('many pods at once, all running', ({ massStart }) => [massStart.allRunningMs], 1, 'not slower'),
    against('many pods at once, own CPU', ({ massStart }) => [massStart.cpuMs], 1, 'not more'),
    against(
      'all killed at once, last death told',
      ({ massKill }) => [Math.max(...massKill.toEventMs)],
      0.5,
      '<= half',
    ),
    atMost(
      'all killed at once, longest from a record to its event',
      Math.max(...rounds.flatMap(({ massKill }) => massKill.toEventMs)),
      DEATH_LIMIT_MS,
      'ms',
    ),
    against(
      'all killed at once, all running again',
      ({ massKill }) => [Math.max(...massKill.toReplacementMs)],
      1,
      'not slower',
    ),
    against('idle, CPU', ({ idle }) => [idle.cpuPercent], 1 / 6, '<= 1/6'),
    against('idle, memory', ({ idle }) => [idle.rssMiB], 1, 'not more'),
    {
      what: 'back on a full node: healthy, and what is killed then is told of and replaced',
      goal: 'all of it',
      measured: `${rounds.filter(isInStep).length} of ${rounds.length}`,
      met: rounds.every(isInStep),
    },
    atMost(
      'deaths of others missed while calls about pods hang',
      sum(({ hung }) => hung.reduce((all, one) => all + one.missed, 0)),
      0,
    ),
    {
      what: 'deaths of others while calls about pods hang, longest delay',
      goal: `no longer than usual (${formatNumber(usualMs)} ms and ${HUNG_SLACK_MS} ms)`,
      measured: `${formatNumber(Math.max(...hungMs))} ms`,
      met: Math.max(...hungMs) <= usualMs + HUNG_SLACK_MS,
    },
    {
      what: 'healthy while calls about pods hang',
      goal: 'always',
      measured: rounds.every(({ hung }) => hung.every(({ isHealthyAtEnd }) => isHealthyAtEnd))
        ? 'always'
        : 'not always',
      met: rounds.every(({ hung }) => hung.every(({ isHealthyAtEnd }) => isHealthyAtEnd)),
    },
  ];
}

/** Of the medians, to whichever of the kubelet's two did better. */
export function ratioToBest(
  podloop: ContenderFigures,
  kubelets: readonly ContenderFigures[],
  values: Values,
): Estimate {
  const own = podloop.rounds.flatMap(values);
  const others = kubelets.map(({ rounds }) => rounds.flatMap(values));
  const best = others.reduce((one, other) => (median(other) < median(one) ? other : one));
  // What was missed has no value: pairs are of what is there.
  const pairs = Math.min(own.length, best.length);
  if (pairs === 0) return { value: Number.NaN, low: Number.NaN, high: Number.NaN };
  return bootstrapRatio(own.slice(0, pairs), best.slice(0, pairs), median);
}

function isInStep({ restart: { healthyMs, isHealthyAtEnd, deaths } }: ContenderRound): boolean {
  return (
    healthyMs !== undefined &&
    isHealthyAtEnd &&
    deaths.missed === 0 &&
    deaths.toReplacementMs.length === deaths.killed
  );
}
