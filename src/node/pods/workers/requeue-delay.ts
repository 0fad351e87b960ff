import { hasCode } from '#base/errors/errors.js';
import { type SyncPodResult } from './pod-syncer.js';

/** How long until a pod is synced again; in milliseconds. */
export interface RequeueIntervals {
  /** After a successful sync. */
  readonly resyncIntervalMs: number;
  /** After a failed one. */
  readonly backOffPeriodMs: number;
}

/** Networks come up within seconds, and until then every pod waits only for that. */
const NETWORK_BACK_OFF_MS = 1_000;
/** Like the kubelet's: jitter adds up to half, so that pods do not sync in step. */
const JITTER = 0.5;

/** The result of a sync. */
export type SyncOutcome =
  { readonly result: SyncPodResult | undefined; readonly error?: undefined } | { readonly error: unknown };

/**
 * Milliseconds until the next sync of the pod if nothing happens before. `random` is in [0, 1).
 *
 * At its deadline the pod ends, whatever failed: `findDeadlineMs` returns the milliseconds until then, 0 once
 * that has been tried.
 */
export function computeRequeueMs(
  outcome: SyncOutcome,
  intervals: RequeueIntervals,
  random: number,
  findDeadlineMs: () => number | undefined,
): number {
  const jittered = (periodMs: number): number => periodMs * (1 + JITTER * random);
  if ('result' in outcome) {
    return Math.min(jittered(intervals.resyncIntervalMs), outcome.result?.requeueAfterMs ?? Infinity);
  }
  const isNetwork = hasCode(outcome.error, 'NETWORK_NOT_READY');
  const backOffMs = jittered(isNetwork ? NETWORK_BACK_OFF_MS : intervals.backOffPeriodMs);
  return Math.min(backOffMs, findDeadlineMs() || Infinity);
}
