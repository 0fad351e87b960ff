import {
  atMost,
  formatEstimate,
  formatNumber,
  type Goal,
  LEAST_ROUNDS,
  ratioAtMost,
  warnOfFew,
} from '../goals.js';
import { growthOf } from './growth.js';
import { type RelistFigures } from './relist-benchmark.js';

/** No more than so much of the bare calls' time may a relist take, by the means. */
export const TIME_LIMIT = 1.15;
/** And no more than so much of their CPU. */
const CPU_LIMIT = 1.3;
/** No slice of work may keep the event loop for longer, in milliseconds. */
const SLICE_LIMIT_MS = 10;
/** Time in proportion to the containers, with a tenth for what caches no longer hold. */
const EXPONENT_LIMIT = 1.1;

/** The time that a relist takes: what the table of the section says, too. */
export function judgeWall({ containers, rounds, ratioOfMeans }: RelistFigures): Goal {
  const what = `wall time of a relist at ${containers} containers`;
  return ratioAtMost({ what, ratio: ratioOfMeans, limit: TIME_LIMIT, of: 'the bare lists', rounds });
}

/** Of one size. */
export function judgeRelist(figures: RelistFigures): Goal[] {
  const { containers, rounds, cpuRatio, relist, bare } = figures;
  const at = `at ${containers} containers`;
  return [
    judgeWall(figures),
    ratioAtMost({
      ...{ what: `CPU of a relist ${at}`, ratio: cpuRatio, limit: CPU_LIMIT },
      ...{ of: 'the bare lists', rounds },
    }),
    atMost(
      `longest turn of the event loop after the last answer in a relist ${at}, collector’s pauses taken off`,
      ...([relist.loop.longestOwnMs, SLICE_LIMIT_MS, 'ms'] as const),
    ),
    {
      what: `longest turn of the event loop in a relist ${at}, transport and collector included`,
      goal: 'the bare lists have it too',
      measured: `${formatNumber(relist.loop.longestTurnMs)} ms, bare ${formatNumber(bare.loop.longestTurnMs)} ms`,
      met: undefined,
    },
  ];
}

/** Over all sizes. */
export function judgeGrowth(figures: readonly RelistFigures[]): Goal[] {
  const exponent = growthOf(figures, 'relist');
  if (exponent === undefined) return [];
  const goal = {
    what: 'growth of a relist’s time with the containers',
    goal: `power <= ${formatNumber(EXPONENT_LIMIT)}`,
    measured: formatEstimate(exponent),
  };
  const rounds = Math.min(...figures.map((one) => one.rounds));
  if (rounds < LEAST_ROUNDS) return [{ ...goal, met: undefined, unjudged: warnOfFew(rounds) }];
  return [{ ...goal, met: Number.isNaN(exponent.high) ? undefined : exponent.high <= EXPONENT_LIMIT }];
}
