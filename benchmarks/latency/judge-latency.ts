import { atMost, type Goal, ratioAtMost } from '../goals.js';
import { type LatencyFigures, type ModeFigures } from './latency-figures.js';

/** By how much an event may come later than by a bare stream and one status call. */
const P99_LIMIT = 3;
/** Fewer turns have no interval that says anything. */
const JUDGED_FROM_TURNS = 4;

/** Every death told of once and replaced in every mode, and soon in those that are told of it. */
export function judgeLatency({ release, modes }: LatencyFigures): Goal[] {
  const judged = modes.filter(({ deaths }) => deaths > 0);
  return [
    ...judged.filter(({ mode }) => mode !== 'generic').map((figures) => judgeP99(release, figures)),
    ...judged.flatMap(({ mode, missed, repeated }) => [
      atMost(`ends never told of or never replaced, ${mode}, containerd ${release}`, missed, 0),
      atMost(`ends told of more than once, ${mode}, containerd ${release}`, repeated, 0),
    ]),
  ];
}

function judgeP99(release: string, { mode, turns, p99RatioToBare }: ModeFigures): Goal {
  // One that was never told of is judged as well: its ratio is infinite.
  return ratioAtMost({
    what: `p99 from end to event, ${mode}, containerd ${release}`,
    ...{ ratio: p99RatioToBare, limit: P99_LIMIT, of: 'a bare event stream and one status call' },
    ...{ rounds: turns, least: JUDGED_FROM_TURNS, counted: 'turns' },
  });
}
