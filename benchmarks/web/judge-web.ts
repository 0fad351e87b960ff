import { formatNumber, type Goal } from '../goals.js';
import { quantile } from '../stats.js';
import { type WebFigures } from './web-benchmark.js';

/** A run that is smaller is another page. */
const LEAST = { pods: 500, records: 100_000, seconds: 600 } as const;
/** The 95th percentile of long tasks: what people still take for an answer at once. */
const LONGEST_MS = 100;
/** How much of the time may go to long tasks. */
const MAX_SHARE = 0.05;
/** What a record that came meanwhile may leave behind, with its place in the timeline. */
const BYTES_A_RECORD = 2_048;
const MIB = 2 ** 20;

/** Whether a page can be used while its node is busy, and holds no more than what it shows. */
export function judgeWeb(figures: WebFigures): Goal[] {
  const { tasks, seconds, changesPerSecond, heap } = figures;
  const isFull = figures.pods >= LEAST.pods && figures.records >= LEAST.records && seconds >= LEAST.seconds;
  const p95 = tasks.following.length === 0 ? 0 : quantile(tasks.following, 0.95);
  const share = tasks.following.reduce((sum, each) => sum + each, 0) / (seconds * 1_000);
  const grownMiB = heap.endMiB - heap.loadedMiB;
  const mayGrowMiB = (seconds * changesPerSecond * BYTES_A_RECORD) / MIB;
  const judge = (met: boolean): Pick<Goal, 'met' | 'unjudged'> =>
    isFull ? { met } : { met: undefined, unjudged: 'a smaller run' };
  return [
    {
      what: 'long tasks while changes come, p95',
      ...{ goal: `<= ${LONGEST_MS} ms`, measured: `${formatNumber(p95)} ms`, ...judge(p95 <= LONGEST_MS) },
    },
    {
      what: 'time in long tasks while changes come',
      ...{ goal: `<= ${MAX_SHARE * 100} %`, measured: `${formatNumber(share * 100)} %` },
      ...judge(share <= MAX_SHARE),
    },
    {
      what: 'growth of what lives in the heap',
      goal: `<= ${formatNumber(mayGrowMiB)} MiB, ${BYTES_A_RECORD / 1_024} KiB for each record that came`,
      ...{ measured: `${formatNumber(grownMiB)} MiB`, ...judge(grownMiB <= mayGrowMiB) },
    },
  ];
}
