import { type Goal } from '../goals.js';
import { quantile } from '../stats.js';
import { type HungFindings } from './hung-benchmark.js';
import { type HungPodFigures } from './hung-pods.js';
import { type Ends, judgeEach, judgeEnds, judgeFailures, longestOf, withMissed } from './judge-rounds.js';
import { type ContenderFigures } from './run-turns.js';

/** Beyond the usual longest delay of an event (p99), that much is nobody's fault. */
const HUNG_SLACK_MS = 250;
/** Agents take a generator for unhealthy that has not relisted in 180 s; a minute on top of that. */
const HANG_LEAST_MS = 240_000;
/** A hang of one pod and one of three: each of them lasts for minutes, with a dozen ends of others in it. */
const LEAST_HANGS = 2;

/** podloop alone: what is held against it is its own usual delay. */
export function judgeHung(figures: readonly ContenderFigures<HungFindings>[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const { rounds } = podloop;
  const found = rounds.flatMap(({ hung = [] }) => hung);
  const usualMs = quantile(
    found.filter(({ hungPods }) => hungPods === 0).flatMap(({ toEventMs }) => toEventMs),
    0.99,
  );
  return [
    judgeEnds(rounds.map(endsOf)),
    ...judgeHangs(
      found.filter(({ hungPods }) => hungPods > 0),
      usualMs,
    ),
    judgeFailures(rounds),
  ];
}

/** Of all ends in a turn that are not of pods that hang. */
function endsOf({ hung = [] }: HungFindings): Ends[] {
  return hung.map(({ deaths: killed, missed, repeated }) => ({ killed, missed, repeated }));
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
      words: `the p99 while nothing hangs, and ${HUNG_SLACK_MS} ms`,
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
