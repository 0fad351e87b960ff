import { formatEstimate, formatNumber, type Goal } from '../goals.js';
import { bootstrapRatio, type Estimate, median, quantile } from '../stats.js';
import { type DeathFigures } from './follow-deaths.js';
import { mebibytes, percent, seconds, spreadMs } from './format-values.js';
import { type HungPodFigures } from './hung-pods.js';
import { type ContenderFigures, type Findings } from './kubelet-benchmark.js';

/** Reads its values from what was found in one stage; none where that was no part of it. */
export type Values<Found = Findings> = (found: Found) => readonly number[];

/** What is compared, in the words of the table, with the part of the kubelet's that podloop may take. */
export interface Comparison<Found = Findings> {
  readonly what: string;
  readonly values: Values<Found>;
  /** Writes those of the values that ever came, which may be none of them. */
  readonly format: (values: readonly number[]) => string;
  readonly limit: number;
  readonly words: string;
}

/** What was found of one contender. */
export interface RoundsOf<Found> {
  readonly rounds: readonly Found[];
}

/** Each death of many must be told of within so long of the first look that showed it. */
const DEATH_LIMIT_MS = 1_000;
/** Beyond the usual longest delay of an event (p99), that much is nobody's fault. */
const HUNG_SLACK_MS = 250;
/** Agents take a generator for unhealthy that has not relisted in 180 s; a minute on top of that. */
const HANG_LEAST_MS = 240_000;

/** All that is a ratio, in the order of the page. What was missed, or never came, took for ever. */
export const COMPARISONS: readonly Comparison[] = [
  {
    ...{ what: 'manifest written to container started', limit: 1, words: 'not slower' },
    format: spreadMs,
    values: ({ podStartsMs = [] }) => podStartsMs,
  },
  {
    ...{ what: 'end of a process to its event', limit: 1, words: 'faster' },
    format: spreadMs,
    values: ({ deaths }) => (deaths === undefined ? [] : withMissed(deaths, deaths.toEventMs)),
  },
  {
    ...{ what: 'end of a process to its replacement', limit: 1, words: 'not slower' },
    format: spreadMs,
    values: ({ deaths }) => (deaths === undefined ? [] : withMissed(deaths, deaths.toReplacementMs)),
  },
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
    values: ({ massKill }) =>
      massKill === undefined ? [] : [Math.max(...withMissed(massKill, massKill.toEventMs))],
  },
  {
    ...{ what: 'all killed at once, all running again', limit: 1, words: 'not slower' },
    format: seconds,
    values: ({ massKill }) =>
      massKill === undefined ? [] : [Math.max(...withMissed(massKill, massKill.toReplacementMs))],
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
export function judgeKubelet(figures: readonly ContenderFigures[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const { rounds } = podloop;
  const goals = judgeComparisons(podloop, kubelets, COMPARISONS);
  const all = rounds.flatMap(({ deaths, massKill }) => [deaths ?? [], massKill ?? []].flat());
  const records = rounds.flatMap(({ massKill }) =>
    massKill === undefined ? [] : withMissed(massKill, massKill.recordToEventMs),
  );
  const restarts = rounds.flatMap(({ restart = [] }) => restart);
  const hung = rounds.flatMap((each) => each.hung ?? []);
  const hungMs = hung.flatMap(({ toEventMs, missed }) =>
    missed > 0 ? [...toEventMs, Number.POSITIVE_INFINITY] : toEventMs,
  );
  const usualMs = quantile(
    rounds.flatMap(({ deaths }) => deaths?.toEventMs ?? []),
    0.99,
  );
  const hungLimitMs = (Number.isNaN(usualMs) ? 0 : usualMs) + HUNG_SLACK_MS;
  const failures = rounds.reduce((sum, each) => sum + each.failures.length, 0);
  return [
    ...goals,
    goal('ends told of', 'each once', all, ({ missed, repeated }) => missed + repeated === 0),
    mostOf('all killed at once, longest from a record to its event', records, DEATH_LIMIT_MS),
    goal(
      'back on a full node: healthy, nothing disturbed, what is killed then told of and replaced',
      'all of it',
      restarts,
      ({ healthyMs, isHealthyAtEnd, disturbed, deaths }) =>
        healthyMs !== undefined &&
        isHealthyAtEnd &&
        disturbed === 0 &&
        deaths.missed === 0 &&
        deaths.toReplacementMs.length === deaths.killed,
    ),
    mostOf('calls about some pods hang: longest delay of others’ deaths', hungMs, hungLimitMs),
    judgeHungHealth(hung),
    goal(
      'calls about some pods hang: these are named',
      'always',
      hung,
      ({ named, hungPods }) => named === hungPods,
    ),
    { what: 'phases of podloop’s that failed', goal: '0', measured: String(failures), met: failures === 0 },
  ];
}

/** An agent that is healthy still has kept the goal only if it had the time to become unhealthy. */
function judgeHungHealth(hung: readonly HungPodFigures[]): Goal {
  const isWell = ({ firstUnhealthyMs }: HungPodFigures): boolean => firstUnhealthyMs === undefined;
  const words = `always, for ${HANG_LEAST_MS / 1_000} s or more`;
  const found = goal('calls about some pods hang: healthy', words, hung, isWell);
  const isLong = hung.every(({ hungForMs }) => hungForMs >= HANG_LEAST_MS);
  return found.met === true && !isLong ? { ...found, met: undefined } : found;
}

/** A goal for each comparison, in their order. */
export function judgeComparisons<Found>(
  podloop: RoundsOf<Found>,
  kubelets: readonly RoundsOf<Found>[],
  comparisons: readonly Comparison<Found>[],
): Goal[] {
  return comparisons.map(({ what, values, limit, words }) => {
    const ratio = ratioToBest(podloop, kubelets, values);
    return {
      ...{ what, goal: words },
      measured: ratio === undefined ? 'nothing' : `${formatRatio(ratio)} times the kubelet’s`,
      met: ratio === undefined ? undefined : ratio.high <= limit,
    };
  });
}

/** Of the medians, to whichever of the kubelet's two did better; undefined where nobody's was measured. */
export function ratioToBest<Found>(
  podloop: RoundsOf<Found>,
  kubelets: readonly RoundsOf<Found>[],
  values: Values<Found>,
): Estimate | undefined {
  const own = podloop.rounds.flatMap(values);
  const others = kubelets.map(({ rounds }) => rounds.flatMap(values)).filter((each) => each.length > 0);
  if (own.length === 0 || others.length === 0) return undefined;
  const best = others.reduce((one, other) => (toFinite(median(other)) < toFinite(median(one)) ? other : one));
  // A phase may have failed in one turn: pairs are of what is there.
  const pairs = Math.min(own.length, best.length);
  const finite = (each: readonly number[]): number[] => each.slice(0, pairs).map(toFinite);
  return bootstrapRatio(finite(own), finite(best), median);
}

/** With an interval where there are rounds enough for one. */
export function formatRatio(ratio: Estimate): string {
  if (ratio.value > 1e6) return '∞';
  return ratio.low === ratio.high ? ratio.value.toFixed(3) : formatEstimate(ratio);
}

/** What never came took longer than anything that did. */
function withMissed({ killed }: DeathFigures, ms: readonly number[]): readonly number[] {
  return [...ms, ...Array.from({ length: killed - ms.length }, () => Number.POSITIVE_INFINITY)];
}

/** Resampling adds and divides: for ever is a time that no phase lasts. */
function toFinite(ms: number): number {
  return Number.isFinite(ms) ? ms : 1e15;
}

function mostOf(what: string, valuesMs: readonly number[], limitMs: number): Goal {
  const mostMs = Math.max(...valuesMs);
  const measured =
    valuesMs.length === 0 ? 'nothing' : Number.isFinite(mostMs) ? `${formatNumber(mostMs)} ms` : 'for ever';
  const met = valuesMs.length === 0 ? undefined : mostMs <= limitMs;
  return { what, goal: `<= ${formatNumber(limitMs)} ms`, measured, met };
}

function goal<Each>(what: string, words: string, all: readonly Each[], holds: (each: Each) => boolean): Goal {
  const kept = all.filter(holds).length;
  const met = all.length === 0 ? undefined : kept === all.length;
  return { what, goal: words, measured: `${kept} of ${all.length}`, met };
}
