import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';

/** A pod that was told to end. */
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

/** For so long beyond its grace period a pod that is ending is waited for. */
const CLEAN_UP_LIMIT_MS = 30_000;

/** Waits until a pod is gone, or nobody waits for it any longer; says which. Rejects with the signal's reason alone. */
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
