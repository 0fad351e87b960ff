import { atMost, formatNumber, type Goal } from '../goals.js';
import { type Estimate } from '../stats.js';
import { type ChurnFigures } from './churn-benchmark.js';

/** Below this share of the deaths that were asked for it was another, lighter churn. */
const RATE_SHARE = 0.98;
/**
 * Growth that matters: what is left of each death is as long as a container's id, the least that anybody would forget
 * to remove. At 50 deaths a second it is 11 MiB an hour.
 */
const BYTES_A_DEATH = 64;
const MIB = 2 ** 20;

/** Nothing lost, nothing invented, and memory that stays where it is. */
export function judgeChurn(figures: ChurnFigures): Goal[] {
  const { mode, lost, repeated, unfounded, memory, madePerSecond, deathsPerSecond } = figures;
  const share = madePerSecond / deathsPerSecond;
  const goals = [
    atMost(`deaths that nobody was told of, ${mode}`, lost, 0),
    atMost(`deaths told of twice, ${mode}`, repeated, 0),
    atMost(`deaths told of that never were, ${mode}`, unfounded, 0),
    bounded(`growth of what lives in the heap, ${mode}`, memory.live.growthAnHour, figures),
    flat(`growth of resident memory, ${mode}`, memory.resident.growthAnHour, figures),
  ];
  // A goal that is missed under less is missed all the more.
  const judged = goals.map((goal) =>
    share < RATE_SHARE && goal.met === true ? { ...goal, met: undefined } : goal,
  );
  return [
    ...judged,
    {
      what: `deaths a second, ${mode}`,
      goal: `>= ${RATE_SHARE * 100} % of ${deathsPerSecond}, else nothing is said to be met`,
      measured: formatNumber(madePerSecond),
      met: share < RATE_SHARE ? undefined : true,
    },
  ];
}

/** `1.20 [-3.40, 5.60]`. */
export function formatGrowth({ value, low, high }: Estimate): string {
  return `${formatNumber(value)} [${formatNumber(low)}, ${formatNumber(high)}]`;
}

/** Met when it is surely less than matters: code is compiled for as long as a process runs, and lives in the heap. */
function bounded(what: string, growth: Estimate, { deathsPerSecond, isSettled }: ChurnFigures): Goal {
  const limit = limitOf(deathsPerSecond);
  const isNoisy = growth.low <= limit && growth.high > limit;
  return {
    what,
    goal: `<= ${formatNumber(limit)} MiB an hour, an id for each death`,
    measured: `${formatGrowth(growth)} MiB an hour${isSettled && isNoisy ? ': too noisy' : ''}`,
    met: isSettled && !Number.isNaN(growth.low) && !isNoisy ? growth.high <= limit : undefined,
  };
}

/** MiB an hour. */
function limitOf(deathsPerSecond: number): number {
  return (deathsPerSecond * 3_600 * BYTES_A_DEATH) / MIB;
}

/** Met when no growth is seen and one that matters would have been: noise alone is no flat line. */
function flat(what: string, growth: Estimate, { deathsPerSecond, isSettled }: ChurnFigures): Goal {
  const limit = limitOf(deathsPerSecond);
  const isNoisy = growth.low <= 0 && growth.high > limit;
  const isJudged = isSettled && !Number.isNaN(growth.low) && !isNoisy;
  return {
    what,
    goal: `none beyond its noise, which is below ${formatNumber(limit)} MiB an hour`,
    measured: `${formatGrowth(growth)} MiB an hour${isSettled && isNoisy ? ': too noisy' : ''}`,
    met: isJudged ? growth.low <= 0 : undefined,
  };
}
