/**
 * The statistics that the benchmarks use: quantiles, and bootstrap intervals of ratios of paired rounds.
 *
 * @module
 */

/** A value with the interval that holds it with the confidence asked for. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** How {@link bootstrapRatio} draws. */
export interface BootstrapOptions {
  readonly resamples?: number;
  /** Share of resamples inside the interval: 0.95 unless told. */
  readonly confidence?: number;
  /** The same seed gives the same interval. */
  readonly seed?: number;
}

/** The sum over the count; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The value below which a share `q` of the values lies, linear between neighbours; NaN of nothing. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - below);
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * The ratio `statistic(numerator) / statistic(denominator)` of paired rounds, with its percentile bootstrap interval.
 *
 * Rounds are drawn as pairs, so that what disturbed both sides of a round alike stays together.
 */
export function bootstrapRatio(
  numerator: readonly number[],
  denominator: readonly number[],
  statistic: (values: readonly number[]) => number,
  { resamples = 5000, confidence = 0.95, seed = 1 }: BootstrapOptions = {},
): Estimate {
  if (numerator.length !== denominator.length || numerator.length === 0) {
    throw new RangeError(`rounds must be paired: ${numerator.length} and ${denominator.length}`);
  }
  const random = createRandom(seed);
  const rounds = numerator.length;
  const above = new Array<number>(rounds);
  const below = new Array<number>(rounds);
  const ratios: number[] = [];
  for (let i = 0; i < resamples; i++) {
    for (let round = 0; round < rounds; round++) {
      const drawn = Math.floor(random() * rounds);
      above[round] = numerator[drawn]!;
      below[round] = denominator[drawn]!;
    }
    ratios.push(statistic(above) / statistic(below));
  }
  const tail = (1 - confidence) / 2;
  return {
    value: statistic(numerator) / statistic(denominator),
    low: quantile(ratios, tail),
    high: quantile(ratios, 1 - tail),
  };
}

/** Numbers in [0, 1) that depend on the seed alone (a 32-bit mixing generator: enough to draw rounds with). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}
