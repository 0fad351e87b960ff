import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';

/** A pod that was asked to end. */
export interface EndingPod {
  readonly pod: NodePod;
  readonly gracePeriodSeconds: number;
  /** It ends for a hard threshold. */
  readonly isHard: boolean;
}

/** What {@link untilGone} needs. */
export interface UntilGoneOptions {
  /** Resolves when nothing of a pod runs and its volumes are gone. */
  readonly whenGone: (pod: NodePod, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long beyond its grace period to wait for an ending pod. */
const CLEAN_UP_LIMIT_MS = 30_000;

/**
 * Waits until a pod is gone, or until the wait is over; returns which. Rejects only with the signal's reason.
 */
export async function untilGone(
  { pod, gracePeriodSeconds }: EndingPod,
  { whenGone, clock, logger }: UntilGoneOptions,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new AbortController();
  const gone = whenGone(pod, AbortSignal.any([signal, waiting.signal]));
  const isInTime = await settlesWithin(gone, gracePeriodSeconds * 1_000 + CLEAN_UP_LIMIT_MS, clock);
  waiting.abort();
  signal.throwIfAborted();
  const names = { pod: formatPod(pod.metadata), podUID: pod.metadata.uid };
  if (isInTime) {
    await gone;
    logger.info('Eviction manager: pod is cleaned up', names);
  } else logger.warn('Eviction manager: timed out waiting for a pod to be cleaned up', names);
}
