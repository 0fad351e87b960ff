import { type StreamState } from '../announced/event-hints.js';

/**
 * How the generator finds out about changes.
 *
 * - `generic`: by relisting every second. No event stream is opened.
 * - `evented`: by events, with a relist every 300 s while the stream is up, and every second while it is not.
 * - `auto`: by both. The relist period stretches to 10 s once the stream has announced every change and a
 *   relist has found no other, and on to 60 s while relists find nothing unannounced.
 */
export type PlegMode = 'generic' | 'evented' | 'auto';

/** All modes, for option tables. */
export const PLEG_MODES: readonly PlegMode[] = ['generic', 'evented', 'auto'];

/** Periods and thresholds, in milliseconds. */
export interface CadenceOptions {
  readonly mode: PlegMode;
  /** From the end of a relist to the next; the kubelet's genericPlegRelistPeriod. */
  readonly relistPeriodMs: number;
  /**
   * The node is unhealthy when the last success is older than this; the kubelet's genericPlegRelistThreshold.
   */
  readonly relistThresholdMs: number;
  /** For `evented` while the stream is up; the kubelet's eventedPlegRelistPeriod and Threshold. */
  readonly eventedPeriodMs: number;
  readonly eventedThresholdMs: number;
  /** For `auto` once the stream has proven complete. */
  readonly stretchedPeriodMs: number;
  /**
   * The limit for `auto`: the period doubles up to it with each relist that finds nothing unannounced.
   *
   * This is the longest delay of a change whose event got lost, on a stream that has lost none before.
   */
  readonly longestStretchedPeriodMs: number;
  /** How many changes in a row must have been announced before `auto` stretches. */
  readonly provenAfter: number;
  /**
   * The largest share of the time that lists of all pods may take, up to 1 (no limit): the pause after a slow
   * list is so much longer, up to a quarter of the threshold.
   */
  readonly maxListShare: number;
}

/** The defaults of every mode. */
export const DEFAULT_CADENCE: Omit<CadenceOptions, 'mode'> = {
  relistPeriodMs: 1_000,
  relistThresholdMs: 180_000,
  eventedPeriodMs: 300_000,
  eventedThresholdMs: 600_000,
  stretchedPeriodMs: 10_000,
  // A third of the threshold: two relists in a row may hang for a minute each before the node is unhealthy.
  longestStretchedPeriodMs: 60_000,
  provenAfter: 10,
  maxListShare: 1,
};

/** The longest health threshold that the mode can have. */
export function longestThreshold(options: CadenceOptions): number {
  const { mode, relistThresholdMs, eventedThresholdMs } = options;
  return mode === 'evented' ? Math.max(relistThresholdMs, eventedThresholdMs) : relistThresholdMs;
}

/** The present period and threshold, in milliseconds. */
export interface Cadence {
  /** From the end of a relist to the next. */
  readonly periodMs: number;
  /** The node is unhealthy when the last success is older than this. */
  readonly thresholdMs: number;
}

/** The pause after a list that took so long, in milliseconds; 0 if it need not be longer than usual. */
export function computeListPause(
  { maxListShare, relistThresholdMs }: CadenceOptions,
  listMs: number,
): number {
  return Math.min(listMs * (1 / maxListShare - 1), relistThresholdMs / 4);
}

/** The input of the period. */
export interface CadenceInput {
  readonly stream: StreamState;
  readonly announcedInARow: number;
  /** Relists in a row, since the stream proved complete, that gave no reason to relist more often. */
  readonly quietRelists: number;
}

/** Whether the stream has announced enough changes in a row to be considered complete. */
export function provesComplete(
  { provenAfter }: CadenceOptions,
  { stream, announcedInARow }: Omit<CadenceInput, 'quietRelists'>,
): boolean {
  return stream === 'up' && announcedInARow >= provenAfter;
}

/**
 * Computes the present relist period and health threshold.
 *
 * A period is never stretched beyond half of the threshold: a waiting generator must not seem dead.
 */
export function computeCadence(options: CadenceOptions, input: CadenceInput): Cadence {
  const usual: Cadence = { periodMs: options.relistPeriodMs, thresholdMs: options.relistThresholdMs };
  const stretched = (periodMs: number, thresholdMs: number): Cadence => ({
    periodMs: Math.max(usual.periodMs, Math.min(periodMs, thresholdMs / 2)),
    thresholdMs,
  });
  if (input.stream !== 'up') return usual;
  switch (options.mode) {
    case 'generic':
      return usual;
    case 'evented':
      return stretched(options.eventedPeriodMs, longestThreshold(options));
    case 'auto':
      if (!provesComplete(options, input)) return usual;
      return stretched(computeStretchedPeriod(options, input.quietRelists), usual.thresholdMs);
  }
}

/**
 * Computes the stretched period of `auto`.
 *
 * Announced changes say nothing about unannounced ones: a runtime that gives each event to only one reader
 * gives the first one to a reader that is gone. So a relist has to find no other change before anything is
 * stretched.
 */
function computeStretchedPeriod(
  { relistPeriodMs, stretchedPeriodMs, longestStretchedPeriodMs }: CadenceOptions,
  quietRelists: number,
): number {
  if (quietRelists === 0) return relistPeriodMs;
  return Math.min(
    stretchedPeriodMs * 2 ** (quietRelists - 1),
    Math.max(stretchedPeriodMs, longestStretchedPeriodMs),
  );
}
