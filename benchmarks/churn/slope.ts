import { createRandom, type Estimate, quantile } from '../stats.js';

const RESAMPLES = 2_000;

/** A value at a time. */
export interface TimedValue {
  /** In seconds. */
  readonly atS: number;
  readonly value: number;
}

/** The least value of every so many seconds: what a collector leaves, without what it has yet to collect. */
export function floorsOf(values: readonly TimedValue[], everyS: number): TimedValue[] {
  const floors = new Map<number, TimedValue>();
  for (const each of values) {
    const part = Math.floor(each.atS / everyS);
    const floor = floors.get(part);
    if (floor === undefined || each.value < floor.value) floors.set(part, each);
  }
  return [...floors.values()];
}

/** How much a value grows in a second, by least squares, with its 95 % bootstrap interval; NaN of fewer than three. */
export function slopeOf(values: readonly TimedValue[]): Estimate {
  const value = fit(values);
  const random = createRandom(3);
  const slopes: number[] = [];
  for (let i = 0; i < RESAMPLES && values.length > 2; i++) {
    const drawn = fit(values.map(() => values[Math.floor(random() * values.length)]!));
    // All drawn from one moment: no line goes through them.
    if (!Number.isNaN(drawn)) slopes.push(drawn);
  }
  return { value, low: quantile(slopes, 0.025), high: quantile(slopes, 0.975) };
}

function fit(values: readonly TimedValue[]): number {
  const meanAt = values.reduce((sum, { atS }) => sum + atS, 0) / values.length;
  const meanValue = values.reduce((sum, { value }) => sum + value, 0) / values.length;
  let [shared, spread] = [0, 0];
  for (const { atS, value } of values) {
    shared += (atS - meanAt) * (value - meanValue);
    spread += (atS - meanAt) ** 2;
  }
  return spread === 0 ? Number.NaN : shared / spread;
}
