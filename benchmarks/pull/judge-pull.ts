import { type Goal, ratioAtMost } from '../goals.js';
import { bootstrapRatio, median } from '../stats.js';

/** What one side took in each round. */
export interface PullSide {
  readonly name: string;
  /** Of an image that is not there. */
  readonly coldMs: readonly number[];
  /** Of one that is. */
  readonly warmMs: readonly number[];
  /** The most memory that the process had during each cold pull. */
  readonly peakMiB: readonly number[];
}

/** What was measured. */
export interface PullFigures {
  /** As they are sent. */
  readonly bytes: number;
  readonly layers: number;
  readonly podloop: PullSide;
  readonly containerd: PullSide;
}

/** Each round takes minutes, and both sides vary little. */
const LEAST_ROUNDS = 10;

/** Holds cold pulls against containerd's of the same rounds. */
export function judgePull({ bytes, layers, podloop, containerd }: PullFigures): Goal {
  return ratioAtMost({
    what: `a cold pull of ${Math.round(bytes / 1e6)} MB in ${layers} layers`,
    ratio: bootstrapRatio(podloop.coldMs, containerd.coldMs, median),
    limit: 1,
    of: containerd.name,
    rounds: podloop.coldMs.length,
    least: LEAST_ROUNDS,
  });
}
