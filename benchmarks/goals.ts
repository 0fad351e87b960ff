import { type Estimate } from './stats.js';

/** What was to be reached, and what was. */
export interface Goal {
  readonly what: string;
  /** `<= 1.15 x the bare lists`. */
  readonly goal: string;
  readonly measured: string;
  /** Undefined: the run was too small, or lacked what is needed, to judge it. */
  readonly met: boolean | undefined;
  /** Why it is not judged, where the rest of the goal does not say it. */
  readonly unjudged?: string;
}

/** A ratio that was measured, and what it is held against. */
export interface RatioGoal {
  readonly what: string;
  readonly ratio: Estimate;
  readonly limit: number;
  /** What the limit is so many times of. */
  readonly of: string;
  /** How much evidence there is: in how many rounds, windows or turns it was measured. */
  readonly rounds: number;
  /** From how many on it is judged; {@link LEAST_ROUNDS} unless told. */
  readonly least?: number;
  /** What `rounds` counts; rounds unless told. */
  readonly counted?: string;
}

/** Drawing anew from fewer gives an interval that is too narrow: of a single round it has no width at all. */
export const LEAST_ROUNDS = 30;

/** A ratio that may be no more than so much: the upper end of the interval is judged. */
export function ratioAtMost(goal: RatioGoal): Goal {
  const { ratio, limit, of } = goal;
  return judgeRatio(goal, `<= ${formatNumber(limit)} x ${of}`, ratio.high, ratio.high <= limit);
}

/** A ratio that must be at least so much: the lower end of the interval is judged. */
export function ratioAtLeast(goal: RatioGoal): Goal {
  const { ratio, limit, of } = goal;
  return judgeRatio(goal, `>= ${formatNumber(limit)} x ${of}`, ratio.low, ratio.low >= limit);
}

/** Infinity is judged: something that never came is worse than late. */
function judgeRatio(
  { what, ratio, rounds, least = LEAST_ROUNDS, counted = 'rounds' }: RatioGoal,
  goal: string,
  end: number,
  met: boolean,
): Goal {
  const told = { what, goal, measured: formatEstimate(ratio) };
  if (rounds < least) return { ...told, met: undefined, unjudged: warnOfFew(rounds, counted) };
  return { ...told, met: Number.isNaN(ratio.value) || Number.isNaN(end) ? undefined : met };
}

/** Why a run of so few is not judged: `1 round`. */
export function warnOfFew(rounds: number, counted = 'rounds'): string {
  return `${rounds} ${rounds === 1 ? counted.replace(/s$/, '') : counted}`;
}

/** What a table says of a goal in a word or two: `yes`, `no`, `not judged: 5 rounds`. */
export function verdictOf({ met, unjudged }: Pick<Goal, 'met' | 'unjudged'>): string {
  if (met !== undefined) return met ? 'yes' : 'no';
  return unjudged === undefined ? 'not judged' : `not judged: ${unjudged}`;
}

/** A number that may be no more than so much. */
export function atMost(what: string, value: number, limit: number, unit = ''): Goal {
  const behind = unit === '' ? '' : ` ${unit}`;
  return {
    what,
    goal: `<= ${formatNumber(limit)}${behind}`,
    measured: `${formatNumber(value)}${behind}`,
    met: Number.isNaN(value) ? undefined : value <= limit,
  };
}

/** `1.030 [1.009, 1.051]`: the value and its interval. */
export function formatEstimate({ value, low, high }: Estimate): string {
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** With as many digits as say something. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}
