import { hasCode } from '#base/errors/errors.js';
import { type SyncPodResult } from './pod-syncer.js';

/** How long until a pod is synced again; milliseconds. */
export interface RequeueIntervals {
  /** After a sync that went well. */
  readonly resyncIntervalMs: number;
  /** After one that failed. */
  readonly backOffPeriodMs: number;
}

/** Networks come up within seconds, and then every pod waits for nothing else. */
const NETWORK_BACK_OFF_MS = 1_000;
/** As the kubelet's: each delay is up to half as long again, so that pods do not go in step. */
const JITTER = 0.5;

/** What became of a sync. */
export type SyncOutcome =
  { readonly result: SyncPodResult | undefined; readonly error?: undefined } | { readonly error: unknown };

/**
 * The delay until the next sync of the pod if nothing happens before, in milliseconds. `random` is in [0, 1).
 * With its deadline the pod ends, whatever failed: `findDeadlineMs` tells in how many milliseconds, 0 when that has been tried.
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
