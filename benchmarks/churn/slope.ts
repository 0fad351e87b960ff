import { bootstrap, drawAnew, type Estimate, fitSlope } from '../stats.js';

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
  const points = values.map(({ atS, value }) => ({ x: atS, y: value }));
  // All drawn from one moment, or from too few: no line goes through them.
  const draw = (random: () => number): number =>
    points.length > 2 ? fitSlope(drawAnew(points, random)) : Number.NaN;
  return bootstrap(fitSlope(points), draw, { resamples: RESAMPLES });
}
