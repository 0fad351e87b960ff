import { type Goal, ratioAtMost } from '../goals.js';
import { type IdleSizeFigures } from './idle-benchmark.js';
import { WINDOW_S } from './watch-idle.js';

/** At this size … */
const JUDGED_AT = 500;
/** … mode auto may cost so much of what generic costs. */
const AUTO_LIMIT = 0.25;

/** What is judged at one size; nothing at another. */
export function judgeIdle({
  pods,
  seconds,
  ratios,
}: Pick<IdleSizeFigures, 'pods' | 'seconds' | 'ratios'>): Goal[] {
  if (pods !== JUDGED_AT) return [];
  const what = `CPU of an idle agent with ${pods} pods, mode auto`;
  return [
    ratioAtMost({
      ...{ what, ratio: ratios.agent, limit: AUTO_LIMIT, of: 'mode generic' },
      ...{ rounds: seconds / WINDOW_S, counted: 'windows' },
    }),
  ];
}
