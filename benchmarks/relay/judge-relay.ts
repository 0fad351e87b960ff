import { type Goal, ratioAtMost } from '../goals.js';
import { type RelayFigures } from './relay-benchmark.js';

/** No more than so much of the bare pipe's time may a call through the relay take, by the means. */
export const TIME_LIMIT = 1.3;

/** One kind of call through one kind of process: what the table of the section says, too. */
export function judgeRelay({
  kind,
  load,
  rounds,
  ratioOfMeans,
}: Pick<RelayFigures, 'kind' | 'load' | 'rounds' | 'ratioOfMeans'>): Goal {
  const what = `${load}, through ${kind}`;
  return ratioAtMost({ what, ratio: ratioOfMeans, limit: TIME_LIMIT, of: 'a bare pipe', rounds });
}
