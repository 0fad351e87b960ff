import { type StreamState } from './event-hints.js';

/**
 * How the generator finds out about changes.
 *
 * - `generic`: by relisting every second. No event stream is opened.
 * - `evented`: by events, with a relist every 300 s while the stream is up, every second while it is not.
 * - `auto`: by both; the relist period stretches to 10 s while the stream proves to announce every change.
 */
export type PlegMode = 'generic' | 'evented' | 'auto';

/** All modes, for option tables. */
export const PLEG_MODES: readonly PlegMode[] = ['generic', 'evented', 'auto'];

/** Periods and thresholds, in milliseconds. */
export interface CadenceOptions {
  readonly mode: PlegMode;
  /** Between the end of a relist and the next; the kubelet's genericPlegRelistPeriod. */
  readonly relistPeriodMs: number;
  /** How old the last success may get before the node is unhealthy; the kubelet's genericPlegRelistThreshold. */
  readonly relistThresholdMs: number;
  /** Of `evented` while the stream is up; the kubelet's eventedPlegRelistPeriod and Threshold. */
  readonly eventedPeriodMs: number;
  readonly eventedThresholdMs: number;
  /** Of `auto` while the stream proves complete. */
  readonly stretchedPeriodMs: number;
  /** So many changes in a row must have been announced before `auto` stretches. */
  readonly provenAfter: number;
}

/** The defaults of every mode. */
export const DEFAULT_CADENCE: Omit<CadenceOptions, 'mode'> = {
  relistPeriodMs: 1_000,
  relistThresholdMs: 180_000,
  eventedPeriodMs: 300_000,
  eventedThresholdMs: 600_000,
  stretchedPeriodMs: 10_000,
  provenAfter: 10,
};

/** The longest health threshold that the mode ever has. */
export function longestThreshold(options: CadenceOptions): number {
  const { mode, relistThresholdMs, eventedThresholdMs } = options;
  return mode === 'evented' ? Math.max(relistThresholdMs, eventedThresholdMs) : relistThresholdMs;
}

/** What the period depends on. */
export interface CadenceInput {
  readonly stream: StreamState;
  readonly announcedInARow: number;
}

/**
 * Computes the relist period and the health threshold that hold now.
 *
 * A period is never stretched past half of the threshold: a generator that waits must not seem to be dead.
 */
export function computeCadence(
  options: CadenceOptions,
  { stream, announcedInARow }: CadenceInput,
): { readonly periodMs: number; readonly thresholdMs: number } {
  const usual = { periodMs: options.relistPeriodMs, thresholdMs: options.relistThresholdMs };
  const stretched = (periodMs: number, thresholdMs: number): typeof usual => ({
    periodMs: Math.max(usual.periodMs, Math.min(periodMs, thresholdMs / 2)),
    thresholdMs,
  });
  if (stream !== 'up') return usual;
  switch (options.mode) {
    case 'generic':
      return usual;
    case 'evented':
      return stretched(options.eventedPeriodMs, longestThreshold(options));
    case 'auto':
      if (announcedInARow < options.provenAfter) return usual;
      return stretched(options.stretchedPeriodMs, usual.thresholdMs);
  }
}
