import { formatNumber, type Goal } from '../goals.js';
import { quantile } from '../stats.js';
import { type WebFigures } from './web-benchmark.js';

/** A run that is smaller is another page: this one is full, so that the oldest record goes for each that comes. */
const LEAST = { pods: 500, records: 150_000, seconds: 600 } as const;
/** The 95th percentile of long tasks: what people still take for an answer at once. */
const LONGEST_MS = 100;
/** How much of the time may go to long tasks. */
const MAX_SHARE = 0.05;
/** Of ten minutes; up to a tenth of the records are removed together. */
const MAX_GROWTH_MIB = 10;

/** Whether a page can be used while its node is busy, and whether its memory stays as it is. */
export function judgeWeb(figures: WebFigures): Goal[] {
  const { tasks, cpuMs, seconds, heap } = figures;
  const isFull = figures.pods >= LEAST.pods && figures.records >= LEAST.records && seconds >= LEAST.seconds;
  const share = tasks.following.reduce((sum, each) => sum + each, 0) / (seconds * 1_000);
  const grownMiB = heap.endMiB - heap.loadedMiB;
  const judge = (met: boolean): Pick<Goal, 'met' | 'unjudged'> =>
    isFull ? { met } : { met: undefined, unjudged: 'a smaller run' };
  const judgeTasks = (what: string, durations: readonly number[]): Goal => {
    const p95 = durations.length === 0 ? 0 : quantile(durations, 0.95);
    return {
      ...{ what, goal: `<= ${LONGEST_MS} ms`, measured: `${formatNumber(p95)} ms` },
      ...judge(p95 <= LONGEST_MS),
    };
  };
  return [
    judgeTasks('long tasks while changes come, p95', tasks.following),
    judgeTasks('their processor time in the last minute, p95', cpuMs),
    {
      what: 'time in long tasks while changes come',
      ...{ goal: `<= ${MAX_SHARE * 100} %`, measured: `${formatNumber(share * 100)} %` },
      ...judge(share <= MAX_SHARE),
    },
    {
      what: 'growth of what lives in the heap of a page that is full',
      ...{ goal: `<= ${MAX_GROWTH_MIB} MiB`, measured: `${formatNumber(grownMiB)} MiB` },
      ...judge(grownMiB <= MAX_GROWTH_MIB),
    },
  ];
}
