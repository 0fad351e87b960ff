import { type Probe } from '#kube/container/container.js';

/** A probe's numbers with Kubernetes' defaults, times in milliseconds. */
export interface ProbeTiming {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/** The numbers of a probe in a manifest. Pure. */
export function probeTiming(probe: Probe): ProbeTiming {
  return {
    initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1_000,
    // Zero means "not given" in all of these.
    periodMs: (probe.periodSeconds || 10) * 1_000,
    timeoutMs: (probe.timeoutSeconds || 1) * 1_000,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/** How many times in a row the same outcome came. */
export interface ProbeTally {
  readonly last: 'success' | 'failure' | undefined;
  readonly run: number;
}

/** Before the first outcome. */
export const EMPTY_TALLY: ProbeTally = { last: undefined, run: 0 };

/**
 * Counts another outcome. Pure.
 *
 * `verdict` is the outcome once it came often enough in a row, and again with each further one. Below the
 * threshold it is undefined: the previous verdict stays.
 */
export function countOutcome(
  tally: ProbeTally,
  outcome: 'success' | 'failure',
  { successThreshold, failureThreshold }: Pick<ProbeTiming, 'successThreshold' | 'failureThreshold'>,
): { readonly tally: ProbeTally; readonly verdict: 'success' | 'failure' | undefined } {
  const run = tally.last === outcome ? tally.run + 1 : 1;
  const threshold = outcome === 'success' ? successThreshold : failureThreshold;
  return { tally: { last: outcome, run }, verdict: run >= threshold ? outcome : undefined };
}
