import { bootstrap, drawNeighbours, type Estimate, fitSlope, mean } from '../stats.js';

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

/**
 * How much a value grows in a second, by least squares, with its 95 % bootstrap interval; NaN of fewer than three.
 *
 * What memory is at one moment it mostly is at the next. So what is beside the line is drawn anew by
 * {@link drawNeighbours}.
 */
export function slopeOf(values: readonly TimedValue[]): Estimate {
  const points = values.map(({ atS, value }) => ({ x: atS, y: value }));
  const slope = fitSlope(points);
  if (points.length < 3) return { value: slope, low: Number.NaN, high: Number.NaN };
  const [middleX, middleY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const onLine = (x: number): number => middleY + slope * (x - middleX);
  const beside = points.map(({ x, y }) => y - onLine(x));
  const draw = (random: () => number): number => {
    const drawn = drawNeighbours(beside, random);
    return fitSlope(points.map(({ x }, at) => ({ x, y: onLine(x) + drawn[at]! })));
  };
  return bootstrap(slope, draw, { resamples: RESAMPLES });
}
