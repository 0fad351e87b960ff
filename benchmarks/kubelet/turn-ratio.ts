import { bootstrapRatio, type Estimate, median } from '../stats.js';

/** From fewer turns than these nothing is judged: one may be anything. */
export const LEAST_TURNS = 3;
/** From fewer, drawing anew says too little: an interval is the range of the turns' own ratios then, which is wider. */
const FEWEST_DRAWN = 10;
const NOTHING: Estimate = { value: Number.NaN, low: Number.NaN, high: Number.NaN };

/** How two sides compare over the turns in which both were measured. */
export interface TurnRatio {
  /** With its interval, or with the least and the largest ratio of a turn where turns are few. */
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
    ratio: pairs.length < FEWEST_DRAWN ? rangeOf(pairs) : bootstrapRatio(values, others, median),
    turns: pairs.length,
    dropped: all.filter(([value, others]) => value !== undefined && others === undefined).length,
    failed,
  };
}

function rangeOf(pairs: readonly (readonly [number, number])[]): Estimate {
  // Of a turn in which what was waited for came on neither side nothing is known.
  const ratios = pairs.map(([value, other]) => value / other).filter((ratio) => !Number.isNaN(ratio));
  if (ratios.length === 0) return NOTHING;
  const value = median(pairs.map(([own]) => own)) / median(pairs.map(([, other]) => other));
  return { value, low: Math.min(...ratios), high: Math.max(...ratios) };
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
