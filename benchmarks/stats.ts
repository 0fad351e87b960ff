/**
 * The statistics that the benchmarks use: quantiles, straight lines, and bootstrap intervals of both and of ratios.
 *
 * @module
 */

/** A value with its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** How often {@link bootstrap} draws, and what. */
export interface BootstrapOptions {
  readonly resamples?: number;
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
  // From infinity to infinity there is no way.
  if (low === high) return low;
  return low + (high - low) * (at - below);
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** A point of what {@link fitSlope} lays a line through. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** How much y grows with each x, by least squares; NaN of points that all have one x. */
export function fitSlope(points: readonly Point[]): number {
  const meanX = mean(points.map(({ x }) => x));
  const meanY = mean(points.map(({ y }) => y));
  let [shared, spread] = [0, 0];
  for (const { x, y } of points) {
    shared += (x - meanX) * (y - meanY);
    spread += (x - meanX) ** 2;
  }
  return spread === 0 ? Number.NaN : shared / spread;
}

/**
 * A value with its percentile bootstrap interval. `draw` computes it from samples that were drawn anew; where nothing
 * comes of a draw (NaN), it is left out.
 */
export function bootstrap(
  value: number,
  draw: (random: () => number) => number,
  { resamples = 5000, seed = 1 }: BootstrapOptions = {},
): Estimate {
  const random = createRandom(seed);
  const drawn = Array.from({ length: resamples }, () => draw(random)).filter((each) => !Number.isNaN(each));
  return { value, low: quantile(drawn, 0.025), high: quantile(drawn, 0.975) };
}

/** As many of the values, each drawn from all of them. */
export function drawAgain<Value>(values: readonly Value[], random: () => number): Value[] {
  return values.map(() => values[Math.floor(random() * values.length)]!);
}

/**
 * As many of the values, in blocks of neighbours, as many in a block as there are blocks: for what was read at one moment
 * after the other, where most of what is so at one is so at the next. The first follows the last, so that each is drawn as
 * often. Drawn one by one they would give an interval that is too narrow.
 */
export function drawNeighbours<Value>(values: readonly Value[], random: () => number): Value[] {
  const length = Math.ceil(Math.sqrt(values.length));
  const drawn: Value[] = [];
  while (drawn.length < values.length) {
    const begin = Math.floor(random() * values.length);
    for (let at = 0; at < length; at++) drawn.push(values[(begin + at) % values.length]!);
  }
  return drawn.slice(0, values.length);
}

/**
 * The ratio `statistic(numerator) / statistic(denominator)` of paired rounds, with its bootstrap interval.
 *
 * Rounds are drawn as pairs, so that what disturbed both sides of a round alike stays together.
 */
export function bootstrapRatio(
  numerator: readonly number[],
  denominator: readonly number[],
  statistic: (values: readonly number[]) => number,
  options: BootstrapOptions = {},
): Estimate {
  return bootstrapPairs(drawAgain, numerator, denominator, statistic, options);
}

/**
 * The same of paired windows of time, one right after the other, in which nothing is begun anew: {@link drawNeighbours}
 * draws them.
 */
export function bootstrapRatioOfWindows(
  numerator: readonly number[],
  denominator: readonly number[],
  statistic: (values: readonly number[]) => number,
  options: BootstrapOptions = {},
): Estimate {
  return bootstrapPairs(drawNeighbours, numerator, denominator, statistic, options);
}

function bootstrapPairs(
  draw: (pairs: readonly number[], random: () => number) => number[],
  numerator: readonly number[],
  denominator: readonly number[],
  statistic: (values: readonly number[]) => number,
  options: BootstrapOptions,
): Estimate {
  if (numerator.length !== denominator.length || numerator.length === 0) {
    throw new RangeError(`rounds must be paired: ${numerator.length} and ${denominator.length}`);
  }
  const pairs = numerator.map((_, at) => at);
  const ratioOf = (drawn: readonly number[]): number =>
    statistic(drawn.map((at) => numerator[at]!)) / statistic(drawn.map((at) => denominator[at]!));
  return bootstrap(ratioOf(pairs), (random) => ratioOf(draw(pairs, random)), options);
}

/**
 * The ratio `statistic(numerator) / statistic(denominator)` of two sides that were not measured in pairs, with its
 * bootstrap interval; NaN where a side has nothing.
 *
 * Each side comes in blocks, what was measured in one go, and is drawn anew block by block: values of one block had the
 * same disturbances, and count as one piece of evidence. An infinite value is one that never came. A numerator of
 * infinity makes the ratio infinite; against an infinite denominator nothing finite can be held, and the ratio is NaN.
 */
export function bootstrapRatioOfBlocks(
  numerator: readonly (readonly number[])[],
  denominator: readonly (readonly number[])[],
  statistic: (values: readonly number[]) => number,
  options: BootstrapOptions = {},
): Estimate {
  const ratioOf = (above: readonly (readonly number[])[], below: readonly (readonly number[])[]): number => {
    const [own, others] = [statistic(above.flat()), statistic(below.flat())];
    if (own === Number.POSITIVE_INFINITY) return Number.isNaN(others) ? Number.NaN : own;
    return Number.isFinite(others) ? own / others : Number.NaN;
  };
  return bootstrap(
    ratioOf(numerator, denominator),
    (random) => ratioOf(drawAgain(numerator, random), drawAgain(denominator, random)),
    options,
  );
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
