import { LEAST_ROUNDS } from '../goals.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, mean, median } from '../stats.js';
import {
  measurePairedRounds,
  measureSide,
  type Run,
  type SamplesOf,
  type SideSamples,
} from './paired-rounds.js';

export interface NarrowRoundsOptions {
  readonly minRounds: number;
  /** Ends it, narrow or not. */
  readonly budgetMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Width of an interval of a ratio. */
const NARROW = 0.05;
/** Enough to know a width; what is judged is drawn more often. */
const RESAMPLES = 500;
/**
 * A round takes about that long on each side: shorter ones are at the mercy of the timer and of the scheduler, and a
 * collection that one side's answers have brought about goes on in the next one's.
 */
const ROUND_MS = 250;
/** Of the largest answers a few bring about a collection. */
const LEAST_RUNS = 8;
/** About as many leave it to the next side. */
const LEAD_IN_RUNS = 2;
/** To choose the runs of a round by. */
const TRIAL_RUNS = 30;

/** Sides of which the second is held against the first; others run beside them in the same rounds. */
type ComparedSides = readonly [Run, Run, ...Run[]];

/** Alternating rounds of warm sides, until the ratio of the means is known narrowly or the budget is used up. */
export async function measureUntilNarrow<const Sides extends ComparedSides>(
  sides: Sides,
  { minRounds, budgetMs, progress, signal }: NarrowRoundsOptions,
): Promise<{ readonly runsPerRound: number; readonly samples: SamplesOf<Sides> }> {
  const { wallMs } = await measureSide(sides[0], TRIAL_RUNS);
  const runsPerRound = Math.max(LEAST_RUNS, Math.round(ROUND_MS / median(wallMs)));
  const deadlineMs = performance.now() + budgetMs;
  const samples = await measurePairedRounds(sides, {
    ...{ minRounds, runsPerRound, leadInRuns: LEAD_IN_RUNS, signal },
    isEnough: ([first, second]) => performance.now() > deadlineMs || isNarrow(first, second),
    onRound: (done) => progress.step(done, Math.ceil(done / minRounds) * minRounds, 'rounds'),
  });
  return { runsPerRound, samples };
}

/** Whether there are rounds enough to judge by, and the interval of the ratio of their means is narrow. */
export function isNarrow(first: Pick<SideSamples, 'wallMs'>, second: Pick<SideSamples, 'wallMs'>): boolean {
  if (first.wallMs.length < LEAST_ROUNDS) return false;
  const { low, high } = bootstrapRatio(second.wallMs, first.wallMs, mean, { resamples: RESAMPLES });
  return high - low < NARROW;
}
