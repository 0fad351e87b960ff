import { bootstrapRatio, type Estimate, median } from '../stats.js';

/** From fewer turns than these nothing is judged: one may be anything. */
export const LEAST_TURNS = 3;

/** How two sides compare over the turns in which both were measured. */
export interface TurnRatio {
  readonly ratio: Estimate;
  readonly turns: number;
  /** Measured on one side alone: what made the other fail may have disturbed it, too. */
  readonly dropped: number;
}

/** The value of a turn: pods of one turn are no turns of their own. Undefined where nothing was measured. */
export function valueOfTurn(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : median(values);
}

/** The ratio of the medians of turns that have the same number on both sides; undefined where there are none. */
export function compareTurns(
  own: readonly (number | undefined)[],
  other: readonly (number | undefined)[],
): TurnRatio | undefined {
  const count = Math.max(own.length, other.length);
  const all = Array.from({ length: count }, (_, turn) => [own[turn], other[turn]] as const);
  const pairs = all.filter((pair): pair is readonly [number, number] => !pair.includes(undefined));
  if (pairs.length === 0) return undefined;
  const isMeasured = all.filter((pair) => pair.some((each) => each !== undefined));
  return {
    ratio: bootstrapRatio(
      pairs.map(([value]) => toFinite(value)),
      pairs.map(([, value]) => toFinite(value)),
      median,
    ),
    ...{ turns: pairs.length, dropped: isMeasured.length - pairs.length },
  };
}

/** Whether the worse end of the interval is within the limit; undefined where the turns are too few to say. */
export function judgeTurns({ ratio, turns }: TurnRatio, limit: number): boolean | undefined {
  return turns < LEAST_TURNS ? undefined : ratio.high <= limit;
}

/** `3`, and those that were dropped. */
export function formatTurns({ turns, dropped }: TurnRatio): string {
  return dropped === 0 ? String(turns) : `${turns} (${dropped} dropped)`;
}

/** Resampling adds and divides: for ever is a time that no phase lasts. */
function toFinite(ms: number): number {
  return Number.isFinite(ms) ? ms : 1e15;
}
