import { type ChurnSettings } from './churn-settings.js';
import { type Verdict } from './verdict.js';

/** One configuration and what came of it. */
export interface ChurnResult {
  /** `generic on containerd 1.7.24…, as a library`. */
  readonly title: string;
  readonly containerd: string;
  readonly mode: string;
  /** The Pleg class, or the `podloop watch` process. */
  readonly through: 'library' | 'watch';
  readonly settings: ChurnSettings;
  readonly kills: number;
  readonly events: number;
  readonly verdict: Verdict;
  /** What the generator said besides events. */
  readonly said: string;
}

/** Of ascending numbers. */
export function percentile(ascending: readonly number[], share: number): number | undefined {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))];
}

/** One line for people, with everything that was counted. */
export function summarize({ title, settings, kills, events, verdict }: ChurnResult): string {
  const { counts, failures, deathLatenciesMs } = verdict;
  const latency = [0.5, 0.99, 1]
    .map((share) => percentile(deathLatenciesMs, share)?.toFixed(0) ?? '-')
    .join('/');
  const counted = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return (
    `${title}: seed ${settings.seed}, ${settings.pods} pods, ${settings.durationMs / 1000} s, ${kills} kills of containerd: ` +
    `${failures.length} failures; ${counted.join(', ')}; ${events} events; end to event p50/p99/max ${latency} ms`
  );
}

/** What a failing test prints: the seed, and each offender's whole story. */
export function explain(result: ChurnResult): string {
  const { failures } = result.verdict;
  const told = failures.slice(0, 10).map(({ problem, story }) => `* ${problem}\n${story}`);
  const rest = failures.length > told.length ? [`… and ${failures.length - told.length} more`] : [];
  return [summarize(result), ...told, ...rest, `it also said: ${result.said}`].join('\n');
}
