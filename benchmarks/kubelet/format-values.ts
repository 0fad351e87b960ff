import { median, quantile } from '../stats.js';
import { type PhaseFailure } from './phase-runner.js';

/** What of a contender's rounds failed. */
export interface FailedRounds {
  readonly name: string;
  readonly rounds: readonly { readonly failures: readonly PhaseFailure[] }[];
}

/** A line for each part that came to nothing; empty when there is none. */
export function formatFailures(figures: readonly FailedRounds[]): string {
  const lines = figures.flatMap(({ name, rounds }) =>
    rounds.flatMap(({ failures }) =>
      failures.map(({ phase, why }) => `- ${name}, ${phase}: ${why.split('\n')[0]}`),
    ),
  );
  return lines.length === 0 ? '' : `\nFailed:\n\n${lines.join('\n')}\n`;
}

/** What never came is said, and is not among the others. */
export function formatValues(
  values: readonly number[],
  format: (values: readonly number[]) => string,
): string {
  if (values.length === 0) return 'none';
  return values.every(Number.isFinite)
    ? format(values)
    : `${format(values.filter(Number.isFinite))}, and some never`;
}

/** p50 / p99 / longest. */
export function spreadMs(values: readonly number[]): string {
  if (values.length === 0) return '–';
  return [median(values), quantile(values, 0.99), quantile(values, 1)].map((ms) => ms.toFixed(0)).join(' / ');
}

/** The median. */
export function seconds(valuesMs: readonly number[]): string {
  return valuesMs.length === 0 ? '–' : `${(median(valuesMs) / 1_000).toFixed(1)} s`;
}

/** The median, of shares of a core. */
export function percent(values: readonly number[]): string {
  return `${median(values).toFixed(2)} %`;
}

/** The median. */
export function mebibytes(valuesMiB: readonly number[]): string {
  return `${median(valuesMiB).toFixed(0)} MiB`;
}
