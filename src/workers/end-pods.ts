import { type NodePod } from '../model/node-pod.js';
import { type Clock } from '../util/clock.js';
import { linkAbort } from '../util/linked-abort.js';
import { type PodWorkers } from './pod-workers.js';
import { type KillOptions } from './work-request.js';

/** What {@link endPods} needs. */
export interface EndPodsOptions {
  readonly clock: Clock;
  readonly workers: Pick<PodWorkers, 'updatePod' | 'takeDue' | 'retry'>;
  readonly pods: Iterable<NodePod>;
  readonly kill?: Omit<KillOptions, 'onCompleted'>;
}

/** As often as the sync loop would. */
const LOOK_MS = 1_000;

/**
 * Ends pods once the sync loop does not run any more, as before the agent ends: what fails is tried again when its time
 * has come. Resolves when no container of them runs; rejects with the signal's reason. Needs a cache that goes on.
 */
export async function endPods(
  { clock, workers, pods, kill }: EndPodsOptions,
  signal: AbortSignal,
): Promise<void> {
  const running = new Set<string>();
  const waiting = linkAbort(signal);
  for (const pod of pods) {
    const { uid } = pod.metadata;
    running.add(uid);
    const onCompleted = (): void => {
      running.delete(uid);
      if (running.size === 0) waiting.abort();
    };
    workers.updatePod({ type: 'kill', pod, kill: { ...kill, onCompleted } });
  }
  try {
    while (running.size > 0) {
      signal.throwIfAborted();
      await clock.sleep(LOOK_MS, waiting.signal).catch(() => undefined);
      for (const uid of workers.takeDue()) workers.retry(uid);
    }
  } finally {
    waiting.unlink();
  }
}
