import { type RelistFigures } from './relist-benchmark.js';
import { bootstrap, bootstrapRatioOfBlocks, drawAgain, type Estimate, fitSlope, median } from '../stats.js';

/** Below so many containers what every call costs is the larger part, and growth says nothing. */
export const GROWTH_FROM = 500;
const RESAMPLES = 2_000;

/** What something took at one size of the node, of every round. */
export interface SizedSamples {
  readonly size: number;
  readonly wallMs: readonly number[];
}

/**
 * The exponent with which time grows over the size: 1 is in proportion to it, 2 with its square. Fitted by least
 * squares through the logarithms of the medians, with a 95 % interval by drawing rounds of each size anew. Undefined
 * of fewer than two sizes.
 */
export function fitExponent(sizes: readonly SizedSamples[]): Estimate | undefined {
  if (sizes.length < 2) return undefined;
  const exponentOf = (rounds: (wallMs: readonly number[]) => readonly number[]): number =>
    fitSlope(sizes.map(({ size, wallMs }) => ({ x: Math.log(size), y: Math.log(median(rounds(wallMs))) })));
  return bootstrap(
    exponentOf((wallMs) => wallMs),
    (random) => exponentOf((wallMs) => drawAgain(wallMs, random)),
    { resamples: RESAMPLES },
  );
}

/** What one item takes at one size, as so many times what it takes at another; by the medians. */
export function ratioOfOne(large: SizedSamples, small: SizedSamples): Estimate {
  const [above, below] = [large, small].map(({ size, wallMs }) => wallMs.map((ms) => [ms / size]));
  return bootstrapRatioOfBlocks(above!, below!, median, { resamples: RESAMPLES });
}

/** How the time of a side grows with the number of containers; undefined where too few sizes were measured. */
export function growthOf(figures: readonly RelistFigures[], side: 'bare' | 'relist'): Estimate | undefined {
  return fitExponent(
    figures.filter(({ containers }) => containers >= GROWTH_FROM).map((one) => toSized(one, side)),
  );
}

/** One side at one size of the node. */
export function toSized(figures: RelistFigures, side: 'bare' | 'relist'): SizedSamples {
  return { size: figures.containers, wallMs: figures[side].wallMs };
}
