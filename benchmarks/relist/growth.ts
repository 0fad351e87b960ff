import { createRandom, type Estimate, median, quantile } from '../stats.js';

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
  const random = createRandom(5);
  const exponents: number[] = [];
  for (let i = 0; i < RESAMPLES; i++)
    exponents.push(
      fit(
        sizes.map(({ size, wallMs }) => ({
          size,
          wallMs: wallMs.map(() => wallMs[Math.floor(random() * wallMs.length)]!),
        })),
      ),
    );
  return { value: fit(sizes), low: quantile(exponents, 0.025), high: quantile(exponents, 0.975) };
}

function fit(sizes: readonly SizedSamples[]): number {
  const points = sizes.map(({ size, wallMs }) => ({ x: Math.log(size), y: Math.log(median(wallMs)) }));
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const shared = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  return shared / points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
}
