import { type ContainerCollector } from '../../gc/container-collector.js';
import { type ImageCollector } from '../../gc/image-collector.js';
import { type PodCache } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { settlesWithin } from '#base/async/settles-within.js';

/** Options of {@link clearUp}. */
export interface ClearUpOptions {
  readonly collectors: {
    readonly containers: Pick<ContainerCollector, 'collectAll'>;
    readonly images: Pick<ImageCollector, 'collectAll'>;
  };
  readonly cache: Pick<PodCache, 'uids' | 'getNewerThan'>;
  /** Whether every source of pods was read. */
  readonly seenAllSources: () => boolean;
  /** Nothing of the pod restarts. */
  readonly isOver: (podUid: string) => boolean;
  readonly clock: Clock;
}

/** Without a view of what was just removed by then, its image goes the next time. */
const LOOK_LIMIT_MS = 5_000;

/**
 * Removes containers and images that nobody uses, including images of those containers.
 *
 * Rejects with the signal's reason, or when images cannot be listed.
 */
export async function clearUp(
  { collectors, cache, seenAllSources, isOver, clock }: ClearUpOptions,
  signal: AbortSignal,
): Promise<void> {
  const over = [...cache.uids()].filter(isOver);
  const { containers } = await collectors.containers.collectAll(isOver, signal);
  // Images of pods that were not delivered yet would have to be pulled again.
  if (!seenAllSources()) return;
  if (containers > 0) {
    const waiting = new AbortController();
    const waits = AbortSignal.any([signal, waiting.signal]);
    const stamp = clock.stamp();
    const seen = Promise.all(over.map(async (uid) => cache.getNewerThan(uid, stamp, waits)));
    await settlesWithin(seen, LOOK_LIMIT_MS, clock);
    waiting.abort();
    signal.throwIfAborted();
  }
  await collectors.images.collectAll(signal);
}
