import { readdir } from 'node:fs/promises';
import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentParts } from './parts/agent-parts.js';

/** What {@link stopPods} needs. */
export interface StopPodsOptions {
  readonly parts: Pick<AgentParts, 'desired' | 'handlers' | 'workers' | 'paths' | 'ownUids' | 'beginDrain'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 200;
/** How long it may take beyond the grace period of pods until a next one has ended or is cleaned up, in milliseconds. */
const STOP_LIMIT_MS = 30_000;

/**
 * Ends and removes every pod of this agent, as if nobody wanted any more, including pods of sources that were
 * never read.
 *
 * Uses the usual way of ending pods. Returns false when some are left after their grace period and half a
 * minute in which none has gone any further; the log names those.
 */
export async function stopPods({ parts, clock, logger }: StopPodsOptions): Promise<boolean> {
  const { desired, handlers, workers, paths, ownUids, beginDrain } = parts;
  const startedMs = clock.monotonicMs();
  let [fewest, progressedMs] = [Infinity, startedMs];
  const ending = new Set<string>();
  let longestGraceMs = 0;
  beginDrain();
  for (;;) {
    // What a source has delivered may reach the sync loop a moment later.
    const pods = [...desired.all()];
    pods.forEach(({ metadata }) => ending.add(metadata.uid));
    longestGraceMs = Math.max(longestGraceMs, ...pods.map((pod) => graceSecondsOf(pod) * 1_000));
    handlers.handlePodRemoves(pods);
    const workedOn = [...ending].filter((uid) => workers.isKnown(uid) && !workers.isFinished(uid));
    const left = ownUids();
    const folders = await readdir(paths.podsDir).catch(() => []);
    if (workedOn.length === 0 && left.length === 0 && folders.length === 0) return true;
    const count = workedOn.length + left.length + folders.length;
    if (count < fewest) [fewest, progressedMs] = [count, clock.monotonicMs()];
    // Pods that only the runtime knows have the default grace period.
    if (left.some((uid) => !ending.has(uid)))
      longestGraceMs = Math.max(longestGraceMs, DEFAULT_GRACE_SECONDS * 1_000);
    if (clock.monotonicMs() > Math.max(startedMs + longestGraceMs, progressedMs) + STOP_LIMIT_MS) {
      logger.error('Pods did not end in time, what is left of them stays', undefined, { pods: left });
      return false;
    }
    await clock.sleep(LOOK_MS);
  }
}

function graceSecondsOf({ spec, metadata }: NodePod): number {
  return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}
