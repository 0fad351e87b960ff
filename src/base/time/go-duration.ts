import { PodloopError } from '../errors/errors.js';

const NS_PER: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/** Formats milliseconds as Go's time.Duration prints them: `3m5s`, `1.5s`, `150ms`, `2m0s`, `0s`. */
export function formatGoDuration(milliseconds: number): string {
  const sign = milliseconds < 0 ? '-' : '';
  const ns = Math.round(Math.abs(milliseconds) * 1e6);
  if (ns === 0) return '0s';
  if (ns < 1e3) return `${sign}${ns}ns`;
  if (ns < 1e6) return `${sign}${trimmed(ns / 1e3, 3)}µs`;
  if (ns < 1e9) return `${sign}${trimmed(ns / 1e6, 6)}ms`;
  const hours = Math.floor(ns / 3600e9);
  const minutes = Math.floor((ns % 3600e9) / 60e9);
  const seconds = trimmed((ns % 60e9) / 1e9, 9);
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

/**
 * Parses a duration like Go (`300ms`, `1s`, `1h30m`, `1.5h`) into milliseconds.
 *
 * Throws OPTION_INVALID with `name` and what would be right. A number without a unit is rejected, except 0.
 */
export function parseGoDuration(text: string, name: string): number {
  if (/^[+-]?0$/.test(text)) return 0;
  const whole = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text);
  if (whole === null) {
    const hint = /^[+-]?\d+(\.\d+)?$/.test(text)
      ? `: the unit is missing, as in ${text}s`
      : ', such as 500ms, 1s or 1m30s';
    throw new PodloopError('OPTION_INVALID', `${name}: ${JSON.stringify(text)} is not a duration${hint}`);
  }
  let ns = 0;
  for (const [, value, unit] of whole[2]!.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    ns += Number(value) * NS_PER[unit!]!;
  }
  // A fraction of a unit is not exact in a double, and Go has nothing below a nanosecond.
  ns = Math.round(ns);
  if (ns >= 2 ** 63) throw new PodloopError('OPTION_INVALID', `${name}: ${text} is longer than 292 years`);
  return (whole[1] === '-' && ns > 0 ? -ns : ns) / 1e6;
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, '');
}
