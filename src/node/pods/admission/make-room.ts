import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { podPreempted } from '#base/channels/admission-channels.js';
import { type Logger } from '#base/log/logger.js';
import { podRefOf } from '../workers/pod-demand.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type Shortage } from './admit-pod.js';
import { type DesiredPods } from '../loop/desired-pods.js';
import { type NodeClaims } from './node-claims.js';
import { chooseVictims, computeNeeds, mayPreempt } from './preemption.js';

/** What {@link RoomMaker} needs. */
export interface RoomMakerOptions extends Publisher {
  readonly desired: Pick<DesiredPods, 'find' | 'isHeld' | 'release'>;
  readonly workers: Pick<PodWorkers, 'updatePod' | 'isTerminationRequested'>;
  /** A pod is ended for another one, for this reason. */
  readonly onPreempted?:
    ((pod: NodePod, end: { readonly reason: string; readonly message: string }) => void) | undefined;
  /** A pod that is ended this way was waiting itself. */
  readonly onWaitGivenUp?: ((pod: NodePod) => void) | undefined;
  readonly logger: Logger;
}

/** Which pods have to end to make room for another one. */
export interface RoomPlan {
  /** Pods to end for it, if any. */
  readonly victims: readonly NodePod[];
  /** Pods that end anyway, and have to be gone as well. */
  readonly leaving: readonly NodePod[];
}

/** The kubelet's words. */
const END = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' } as const;
const DISRUPTION = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/** Ends pods to make room for one that is critical for the node; that one waits until they have ended. */
export class RoomMaker {
  readonly #options: RoomMakerOptions;

  constructor(options: RoomMakerOptions) {
    this.#options = options;
  }

  /** Plans without acting; undefined when no room can be made. `active`: the claims of all other pods. */
  plan(pod: NodePod, active: NodeClaims, shortages: readonly Shortage[]): RoomPlan | undefined {
    if (!isCriticalPod(pod)) return undefined;
    const { desired, workers } = this.#options;
    const leaving: NodePod[] = [];
    const candidates: NodePod[] = [];
    for (const uid of active.uids()) {
      const other = desired.find(uid);
      if (other === undefined) continue;
      // A waiting pod claims what it waits for, and can be ended as well: nothing of it runs.
      if (workers.isTerminationRequested(uid)) leaving.push(other);
      else if (mayPreempt(pod, other)) candidates.push(other);
    }
    // It waits only for pods that it could have ended itself.
    const victims = chooseVictims(candidates, computeNeeds(shortages, leaving));
    const isWaiting = victims?.length === 0;
    if (victims === undefined || (isWaiting && !leaving.some((other) => mayPreempt(pod, other))))
      return undefined;
    return { victims, leaving };
  }

  /**
   * Ends the victims of a plan. The pod has to be held before, as the end of a victim is reported at once.
   */
  carryOut(pod: NodePod, { victims }: RoomPlan, shortages: readonly Shortage[]): void {
    const { desired, workers, onPreempted, onWaitGivenUp, logger } = this.#options;
    for (const victim of victims) {
      if (desired.isHeld(victim.metadata.uid)) onWaitGivenUp?.(victim);
      desired.release(victim.metadata.uid);
      workers.updatePod({
        type: 'kill',
        pod: victim,
        kill: { statusOverride: { phase: 'Failed', ...END, disruption: DISRUPTION } },
      });
      publishTo(this.#options.channels, podPreempted, { resource: shortages[0]?.resource ?? '' });
      onPreempted?.(victim, END);
    }
    const fields = { pod: podRefOf(pod), podUID: pod.metadata.uid, pods: victims.map(podRefOf) };
    if (victims.length > 0) logger.info('Attempting to evict pods in order to free up resources', fields);
  }
}
