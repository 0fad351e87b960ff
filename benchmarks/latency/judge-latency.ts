import { atMost, type Goal, ratioAtMost } from '../goals.js';
import { type Estimate } from '../stats.js';
import { type LatencyFigures } from './latency-figures.js';

/** By how much an event may come later than by a bare stream and one status call. */
const P99_LIMIT = 3;
/** Fewer turns have no interval that says anything. */
const JUDGED_FROM_TURNS = 4;
/** What the p99 is held against: at the same pace, beside lists each second … */
const OF_BARE = 'a bare event stream and one status call';
/** … and where nothing else happened, which is harder. */
const OF_ALONE = `${OF_BARE}, ends one at a time`;

/** Every death told of once and replaced in every mode, and soon in those that are told of it. */
export function judgeLatency({ release, modes }: LatencyFigures): Goal[] {
  const judged = modes.filter(({ deaths }) => deaths > 0);
  return [
    ...judged
      .filter(({ mode }) => mode !== 'generic')
      .flatMap(({ mode, turns, p99RatioToBare, turnsToAlone, p99RatioToAlone }) => [
        judgeP99(`${mode}, containerd ${release}`, OF_BARE, p99RatioToBare, turns),
        judgeP99(`${mode}, containerd ${release}`, OF_ALONE, p99RatioToAlone, turnsToAlone),
      ]),
    ...judged.flatMap(({ mode, missed, repeated }) => [
      atMost(`ends never told of or never replaced, ${mode}, containerd ${release}`, missed, 0),
      atMost(`ends told of more than once, ${mode}, containerd ${release}`, repeated, 0),
    ]),
  ];
}

function judgeP99(where: string, of: string, ratio: Estimate, turns: number): Goal {
  // One that was never told of is judged as well: its ratio is infinite.
  return ratioAtMost({
    what: `p99 from end to event, ${where}`,
    ...{ ratio, limit: P99_LIMIT, of },
    ...{ rounds: turns, least: JUDGED_FROM_TURNS, counted: 'turns' },
  });
}
