import { bootstrapRatio, type Estimate, median } from '../stats.js';

/** From fewer turns than these nothing is judged: one may be anything. */
export const LEAST_TURNS = 3;
const NOTHING: Estimate = { value: Number.NaN, low: Number.NaN, high: Number.NaN };

/** How two sides compare over the turns in which both were measured. */
export interface TurnRatio {
  readonly ratio: Estimate;
  readonly turns: number;
  /** Measured on the own side alone: what made the other fail may have disturbed it, too. */
  readonly dropped: number;
  /** Measured on the other side alone: with one of these the own side has not kept up, whatever the ratio. */
  readonly failed: number;
}

/** The value of a turn: pods of one turn are no turns of their own. Undefined where nothing was measured. */
export function valueOfTurn(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : median(values);
}

/**
 * The ratio of the medians of turns that have the same number on both sides; undefined where the own side has nothing to be
 * held against. The ratio is NaN where there is no such turn, and where what was waited for came on neither side.
 */
export function compareTurns(
  own: readonly (number | undefined)[],
  other: readonly (number | undefined)[],
): TurnRatio | undefined {
  const count = Math.max(own.length, other.length);
  const all = Array.from({ length: count }, (_, turn) => [own[turn], other[turn]] as const);
  const pairs = all.filter((pair): pair is readonly [number, number] => !pair.includes(undefined));
  const failed = all.filter(([value, others]) => value === undefined && others !== undefined).length;
  if (pairs.length + failed === 0) return undefined;
  const [values, others] = [pairs.map(([value]) => value), pairs.map(([, other]) => other)];
  return {
    ratio: pairs.length === 0 ? NOTHING : bootstrapRatio(values, others, median),
    turns: pairs.length,
    dropped: all.filter(([value, others]) => value !== undefined && others === undefined).length,
    failed,
  };
}

/**
 * Whether the worse end of the interval is within the limit, and no turn failed; undefined where the turns are too few to say, or
 * neither side ever got there.
 */
export function judgeTurns({ ratio, turns, failed }: TurnRatio, limit: number): boolean | undefined {
  if (failed > 0) return false;
  return turns < LEAST_TURNS || Number.isNaN(ratio.value) ? undefined : ratio.high <= limit;
}

/** `3`, those that were dropped, and those that failed. */
export function formatTurns({ turns, dropped, failed }: TurnRatio): string {
  const besides = [
    ...(dropped === 0 ? [] : [`${dropped} dropped`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ];
  return besides.length === 0 ? String(turns) : `${turns} (${besides.join(', ')})`;
}
