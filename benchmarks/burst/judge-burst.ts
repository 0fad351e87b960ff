import { type Goal, ratioAtLeast } from '../goals.js';
import { type BurstFigures } from './burst-benchmark.js';

/** At so many inspections beside one another … */
const JUDGED_AT = 16;
/** … a burst is to be known so many times sooner than one pod after another … */
const SPEED_UP = 12;
/** … when so many pods change, and each status call takes so long: the fewer there are, the more does the list weigh. */
const JUDGED_OF = { pods: 500, statusMs: 20 };

/** How a burst came about. */
export interface BurstSize {
  readonly pods: number;
  readonly statusMs: number;
}

/** The speed at the default number of places; any other burst than the one of the goal is told of and not judged. */
export function judgeBurst(figures: readonly BurstFigures[], { pods, statusMs }: BurstSize): Goal[] {
  const isJudged = pods === JUDGED_OF.pods && statusMs === JUDGED_OF.statusMs;
  return figures
    .filter(({ concurrency }) => concurrency === JUDGED_AT)
    .map(({ speedUp, lastEventMs }) => {
      const what = `until the last event of ${pods} pods with status calls of ${statusMs} ms, ${JUDGED_AT} inspections beside one another`;
      const goal = ratioAtLeast({
        ...{ what, ratio: speedUp, limit: SPEED_UP, of: 'as fast as one pod after another' },
        ...{ rounds: lastEventMs.length, counted: 'bursts' },
      });
      if (isJudged) return goal;
      return {
        ...goal,
        goal: `${goal.goal}, of ${JUDGED_OF.pods} pods and ${JUDGED_OF.statusMs} ms`,
        met: undefined,
      };
    });
}
