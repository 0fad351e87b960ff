import { type StreamState } from '../announced/event-hints.js';

/**
 * How the generator finds out about changes.
 *
 * - `generic`: by relisting every second. No event stream is opened.
 * - `evented`: by events, with a relist every 300 s while the stream is up, every second while it is not.
 * - `auto`: by both; the relist period stretches to 10 s once the stream has announced every change and a relist has found
 *   no other, and on to 60 s while relists find nothing that was not announced.
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
  /** Of `auto` when the stream has proven complete … */
  readonly stretchedPeriodMs: number;
  /**
   * … and what it doubles up to, with each relist that finds nothing but what was announced. So long may it take to
   * see a change whose event got lost, on a stream that has lost none before.
   */
  readonly longestStretchedPeriodMs: number;
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
  // A third of the threshold: a relist may hang for a minute and the next one for another before the node is unhealthy.
  longestStretchedPeriodMs: 60_000,
  provenAfter: 10,
};

/** The longest health threshold that the mode ever has. */
export function longestThreshold(options: CadenceOptions): number {
  const { mode, relistThresholdMs, eventedThresholdMs } = options;
  return mode === 'evented' ? Math.max(relistThresholdMs, eventedThresholdMs) : relistThresholdMs;
}

/** What holds for now, in milliseconds. */
export interface Cadence {
  /** Between the end of a relist and the next. */
  readonly periodMs: number;
  /** How old the last success may get before the node is unhealthy. */
  readonly thresholdMs: number;
}

/** What the period depends on. */
export interface CadenceInput {
  readonly stream: StreamState;
  readonly announcedInARow: number;
  /** Relists since the stream proves complete, one after the other, that gave no reason to relist more often. */
  readonly quietRelists: number;
}

/** Whether the stream has announced so many changes in a row that it is taken to announce all of them. */
export function provesComplete(
  { provenAfter }: CadenceOptions,
  { stream, announcedInARow }: Omit<CadenceInput, 'quietRelists'>,
): boolean {
  return stream === 'up' && announcedInARow >= provenAfter;
}

/**
 * Computes the relist period and the health threshold that hold now.
 *
 * A period is never stretched past half of the threshold: a generator that waits must not seem to be dead.
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
 * Changes that were announced say nothing of one that was not: a runtime that gives each event to one reader gives the
 * first one to a reader that is gone. So a relist has to find no other before anything is stretched.
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
