import { isCriticalPod } from '../model/critical-pod.js';
import { type NodePod } from '../model/node-pod.js';
import { podPreempted } from '../util/admission-channels.js';
import { type Logger } from '../util/logger.js';
import { podRefOf } from '../workers/pod-demand.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type Shortage } from './admit-pod.js';
import { type DesiredPods } from './desired-pods.js';
import { type NodeClaims } from './node-claims.js';
import { chooseVictims, computeNeeds, mayPreempt } from './preemption.js';

/** What {@link RoomMaker} needs. */
export interface RoomMakerOptions {
  readonly desired: Pick<DesiredPods, 'find' | 'hold' | 'release'>;
  readonly workers: Pick<PodWorkers, 'updatePod' | 'isTerminationRequested'>;
  /** A pod is ended for another one, for this reason. */
  readonly onPreempted?:
    ((pod: NodePod, end: { readonly reason: string; readonly message: string }) => void) | undefined;
  readonly logger: Logger;
}

/** The kubelet's words. */
const END = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' } as const;
const DISRUPTION = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/** Ends pods so that one that is critical for the node can be there. It waits until they have ended. */
export class RoomMaker {
  readonly #options: RoomMakerOptions;

  constructor(options: RoomMakerOptions) {
    this.#options = options;
  }

  /** False when there is no room to be made: then nothing has been done. `active`: the claims of all other pods. */
  tryFor(pod: NodePod, active: NodeClaims, shortages: readonly Shortage[]): boolean {
    if (!isCriticalPod(pod)) return false;
    const { desired, workers, onPreempted, logger } = this.#options;
    const leaving: NodePod[] = [];
    const candidates: NodePod[] = [];
    for (const uid of active.uids()) {
      const other = desired.find(uid);
      if (other === undefined) continue;
      // One that waits itself claims what it waits for, and is ended as well: nothing of it runs.
      if (workers.isTerminationRequested(uid)) leaving.push(other);
      else if (mayPreempt(pod, other)) candidates.push(other);
    }
    // It waits only for what it could have ended itself.
    const victims = chooseVictims(candidates, computeNeeds(shortages, leaving));
    const isWaiting = victims?.length === 0;
    if (victims === undefined || (isWaiting && !leaving.some((other) => mayPreempt(pod, other))))
      return false;
    desired.hold(pod.metadata.uid);
    for (const victim of victims) {
      desired.release(victim.metadata.uid);
      workers.updatePod({
        type: 'kill',
        pod: victim,
        kill: { statusOverride: { phase: 'Failed', ...END, disruption: DISRUPTION } },
      });
      podPreempted.publish({ resource: shortages[0]?.resource ?? '' });
      onPreempted?.(victim, END);
    }
    const fields = { pod: podRefOf(pod), podUID: pod.metadata.uid, pods: victims.map(podRefOf) };
    if (victims.length > 0) logger.info('Attempting to evict pods in order to free up resources', fields);
    return true;
  }
}
