import { type Estimate } from './stats.js';

/** What was to be reached, and what was. */
export interface Goal {
  readonly what: string;
  /** `<= 1.15 x the bare lists`. */
  readonly goal: string;
  readonly measured: string;
  /** Undefined: the run was too small, or lacked what is needed, to judge it. */
  readonly met: boolean | undefined;
}

/** A ratio that may be no more than so much: the upper end of the interval is judged. */
export function ratioAtMost(what: string, ratio: Estimate, limit: number, of: string): Goal {
  return {
    what,
    goal: `<= ${formatNumber(limit)} x ${of}`,
    measured: formatEstimate(ratio),
    met: Number.isFinite(ratio.high) ? ratio.high <= limit : undefined,
  };
}

/** A ratio that must be at least so much: the lower end of the interval is judged. */
export function ratioAtLeast(what: string, ratio: Estimate, limit: number, of: string): Goal {
  return {
    what,
    goal: `>= ${formatNumber(limit)} x ${of}`,
    measured: formatEstimate(ratio),
    met: Number.isFinite(ratio.low) ? ratio.low >= limit : undefined,
  };
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
