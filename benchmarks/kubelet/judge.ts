import { formatEstimate, formatNumber, type Goal } from '../goals.js';
import { type Estimate, median, quantile } from '../stats.js';
import { type DeathFigures } from './follow-deaths.js';
import { mebibytes, percent, seconds, spreadMs } from './format-values.js';
import { type HungPodFigures } from './hung-pods.js';
import { type ContenderFigures, type Findings } from './kubelet-benchmark.js';
import {
  compareTurns,
  formatTurns,
  judgeTurns,
  LEAST_TURNS,
  type TurnRatio,
  valueOfTurn,
} from './turn-ratio.js';

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
  /** Ends that have no times, and so are not among the values; always 0 unless told. */
  readonly countUnknown?: (found: Found) => number;
}

/** Ends, and how many of them were told of wrongly. */
type Ends = Pick<DeathFigures, 'killed' | 'missed' | 'repeated'>;

/** What was found of one contender. */
export interface RoundsOf<Found> {
  readonly rounds: readonly Found[];
}

/** Each death of many must be told of within so long of the last look that did not show it. */
const DEATH_LIMIT_MS = 1_000;
/** Beyond the usual longest delay of an event (p99), that much is nobody's fault. */
const HUNG_SLACK_MS = 250;
/** Agents take a generator for unhealthy that has not relisted in 180 s; a minute on top of that. */
const HANG_LEAST_MS = 240_000;
/** A hang of one pod and one of three: each of them lasts for minutes, with a dozen ends of others in it. */
const LEAST_HANGS = 2;

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
    values: ({ deaths }) => (deaths === undefined ? [] : withMissed(deaths.toEventMs, deaths.missed)),
    countUnknown: ({ deaths }) => deaths?.unknownEnds ?? 0,
  },
  {
    ...{ what: 'end of a process to its replacement', limit: 1, words: 'not slower' },
    format: spreadMs,
    values: ({ deaths }) =>
      deaths === undefined ? [] : withMissed(deaths.toReplacementMs, deaths.notReplaced),
    countUnknown: ({ deaths }) => deaths?.unknownEnds ?? 0,
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
export function judgeKubelet(figures: readonly ContenderFigures[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const { rounds } = podloop;
  const goals = judgeComparisons(podloop, kubelets, COMPARISONS);
  const records = rounds.flatMap(({ massKill }) =>
    massKill === undefined ? [] : [withMissed(massKill.recordToEventMs, massKill.missed)],
  );
  const restarts = rounds.flatMap(({ restart = [] }) => restart);
  const hung = rounds.flatMap((each) => each.hung ?? []);
  const usualMs = quantile(
    rounds.flatMap(({ deaths }) => deaths?.toEventMs ?? []),
    0.99,
  );
  const failures = rounds.reduce((sum, each) => sum + each.failures.length, 0);
  return [
    ...goals,
    judgeEnds(rounds),
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
    ...judgeHangs(hung, usualMs),
    { what: 'phases of podloop’s that failed', goal: '0', measured: String(failures), met: failures === 0 },
  ];
}

/** Of all ends in a turn, whoever's they were: one at a time, all at once, after a restart and beside pods that hang. */
function endsOf({ deaths, massKill, restart, hung = [] }: Findings): Ends[] {
  return [
    ...[deaths, massKill, restart?.deaths].filter((each) => each !== undefined),
    ...hung.map(({ deaths: killed, missed, repeated }) => ({ killed, missed, repeated })),
  ];
}

function judgeEnds(rounds: readonly Findings[]): Goal {
  const turns = rounds.map(endsOf).filter((ends) => ends.length > 0);
  const all = turns.flat();
  const killed = all.reduce((sum, each) => sum + each.killed, 0);
  const wrong = all.reduce((sum, { missed, repeated }) => sum + missed + repeated, 0);
  return {
    ...{ what: 'ends told of', goal: 'each once' },
    measured: `${killed - wrong} of ${killed} ends, in ${turns.length} turns`,
    met: wrong > 0 ? false : turns.length < LEAST_TURNS ? undefined : true,
  };
}

/** Where no call was held nothing hung: such a hang is evidence of nothing, and none of these goals is kept with one. */
function judgeHangs(hung: readonly HungPodFigures[], usualMs: number): Goal[] {
  const hangs = hung.filter(({ heldCalls }) => heldCalls > 0);
  const untried = hung.length - hangs.length;
  const counted = { unit: 'hangs', least: LEAST_HANGS };
  const goals = [
    longestOf({
      what: 'calls about some pods hang: longest delay of others’ deaths',
      all: hangs.map(({ toEventMs, missed }) => withMissed(toEventMs, missed)),
      limitMs: usualMs + HUNG_SLACK_MS,
      words: `the usual p99 and ${HUNG_SLACK_MS} ms`,
      ...counted,
    }),
    judgeHungHealth(hangs),
    judgeEach({
      what: 'calls about some pods hang: these are named',
      words: 'always',
      all: hangs,
      holds: ({ named, hungPods }) => named === hungPods,
      ...counted,
    }),
  ];
  if (untried === 0) return goals;
  return goals.map(({ measured, met, ...rest }) => ({
    ...rest,
    measured: `${measured}; no call was held in ${untried} more`,
    met: met === false ? false : undefined,
  }));
}

/** An agent that is healthy still has kept the goal only if it had the time to become unhealthy. */
function judgeHungHealth(hangs: readonly HungPodFigures[]): Goal {
  const found = judgeEach({
    what: 'calls about some pods hang: healthy',
    words: `always, for ${HANG_LEAST_MS / 1_000} s or more`,
    all: hangs,
    holds: ({ firstUnhealthyMs }) => firstUnhealthyMs === undefined,
    ...{ unit: 'hangs', least: LEAST_HANGS },
  });
  const isLong = hangs.every(({ hungForMs }) => hungForMs >= HANG_LEAST_MS);
  return found.met === true && !isLong ? { ...found, met: undefined } : found;
}

/** A goal for each comparison, in their order. */
export function judgeComparisons<Found>(
  podloop: RoundsOf<Found>,
  kubelets: readonly RoundsOf<Found>[],
  comparisons: readonly Comparison<Found>[],
): Goal[] {
  return comparisons.map(({ what, values, limit, words, countUnknown = () => 0 }) => {
    const compared = ratioToBest(podloop, kubelets, values);
    const [own, others] = [[podloop], kubelets].map((some) =>
      some.flatMap(({ rounds }) => rounds).reduce((sum, found) => sum + countUnknown(found), 0),
    );
    const unknown =
      own === 0 && others === 0
        ? ''
        : `; left out are ends without a time, ${own} of podloop’s and ${others} of the kubelets’`;
    return {
      ...{ what, goal: words },
      measured:
        compared === undefined
          ? `nothing${unknown}`
          : `${formatRatio(compared.ratio)} times the kubelet’s, turns: ${formatTurns(compared)}${unknown}`,
      met: compared && judgeTurns(compared, limit),
    };
  });
}

/** Of the medians of turns, to whichever of the kubelet's two did better; undefined where nobody's was measured. */
export function ratioToBest<Found>(
  podloop: RoundsOf<Found>,
  kubelets: readonly RoundsOf<Found>[],
  values: Values<Found>,
): TurnRatio | undefined {
  const turnsOf = ({ rounds }: RoundsOf<Found>): (number | undefined)[] =>
    rounds.map((found) => valueOfTurn(values(found)));
  const own = turnsOf(podloop);
  const [best] = kubelets
    .map(turnsOf)
    .map((turns) => ({ turns, value: median(turns.filter((each) => each !== undefined)) }))
    .filter(({ value }) => !Number.isNaN(value))
    .toSorted((one, other) => (one.value === other.value ? 0 : one.value - other.value));
  return best && compareTurns(own, best.turns);
}

/** With an interval where there are rounds enough for one. */
export function formatRatio(ratio: Estimate): string {
  if (Number.isNaN(ratio.value)) return 'none';
  if (ratio.value === Number.POSITIVE_INFINITY) return '∞';
  const text = ratio.low === ratio.high ? ratio.value.toFixed(3) : formatEstimate(ratio);
  return text.replaceAll('Infinity', '∞');
}

/** What never came took longer than anything that did. */
function withMissed(ms: readonly number[], missed: number): readonly number[] {
  return [...ms, ...Array.from({ length: missed }, () => Number.POSITIVE_INFINITY)];
}

function longest(ms: readonly number[], missed: number): readonly number[] {
  const all = withMissed(ms, missed);
  return all.length === 0 ? [] : [Math.max(...all)];
}

/** What {@link longestOf} and {@link judgeEach} judge by, in words and numbers. */
interface Judged<Each> {
  readonly what: string;
  readonly words: string;
  readonly all: readonly Each[];
  /** What each of them is: turns, hangs. */
  readonly unit: string;
  /** One that does not hold is enough to miss a goal; to keep it takes so many. */
  readonly least: number;
}

/** The longest time of an end; `all` has those of each turn or hang. Nothing is judged where there is no limit (NaN). */
function longestOf({
  what,
  words,
  all,
  unit,
  least,
  limitMs,
}: Judged<readonly number[]> & { readonly limitMs: number }): Goal {
  const values = all.flat();
  const mostMs = Math.max(...values);
  const most = Number.isFinite(mostMs) ? `${formatNumber(mostMs)} ms` : 'for ever';
  const limit = Number.isNaN(limitMs) ? '' : `<= ${formatNumber(limitMs)} ms: `;
  const isKept = values.length === 0 || Number.isNaN(limitMs) ? undefined : mostMs <= limitMs;
  return {
    ...{ what, goal: `${limit}${words}` },
    measured: values.length === 0 ? 'nothing' : `${most}, of ${values.length} ends in ${all.length} ${unit}`,
    met: isKept === true && all.length < least ? undefined : isKept,
  };
}

function judgeEach<Each>({
  what,
  words,
  all,
  unit,
  least,
  holds,
}: Judged<Each> & { readonly holds: (each: Each) => boolean }): Goal {
  const kept = all.filter(holds).length;
  const met = kept < all.length ? false : all.length < least ? undefined : true;
  return { what, goal: words, measured: `${kept} of ${all.length} ${unit}`, met };
}
