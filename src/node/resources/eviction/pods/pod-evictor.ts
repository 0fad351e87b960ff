import { AT_ONCE_SECONDS } from '../eviction-rules.js';
import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { podEvicted } from '#base/channels/start-channels.js';
import { type PodWorkers } from '../../../pods/workers/pod-workers.js';

/** What {@link PodEvictor} needs. */
export interface PodEvictorOptions {
  readonly workers: Pick<PodWorkers, 'isKnown' | 'isTerminationRequested' | 'isFinished' | 'updatePod'>;
  readonly events: PodEventRecorder;
}

/** Why a pod is evicted, and how long it gets to end. */
export interface PodEviction {
  /** As the kubelet's label eviction_signal has it. */
  readonly signal: string;
  readonly message: string;
  /** What its condition DisruptionTarget says: it ends for the sake of others. One that is beyond its own limits has none. */
  readonly disruption?: string;
  /** As a kubelet gives those that it evicts at once unless told. */
  readonly gracePeriodSeconds?: number;
}

/** Ends pods for good, for what they use of the node, in the kubelet's words. */
export class PodEvictor {
  readonly #options: PodEvictorOptions;

  constructor(options: PodEvictorOptions) {
    this.#options = options;
  }

  /** Whether a pod may run, and is not being ended. */
  isActive({ metadata: { uid } }: NodePod): boolean {
    const { workers } = this.#options;
    return workers.isKnown(uid) && !workers.isTerminationRequested(uid) && !workers.isFinished(uid);
  }

  /**
   * Whether a pod that is beyond its own limits ends for it. A critical pod of a cluster does not, as with a kubelet: the node is
   * not what it should be without it. A static one does, unlike there: it is held to what its manifest says.
   */
  isHeldToLimits(pod: NodePod): boolean {
    return this.isActive(pod) && !(isClusterPod(pod) && isCriticalPod(pod));
  }

  /** Returns at once. Does nothing to a pod that is not active. */
  evict(pod: NodePod, eviction: PodEviction): void {
    if (!this.isActive(pod)) return;
    const { signal, message, disruption, gracePeriodSeconds = AT_ONCE_SECONDS } = eviction;
    const { workers, events } = this.#options;
    events.record(pod.metadata, { type: 'Warning', reason: 'Evicted', message });
    const end = { phase: 'Failed', reason: 'Evicted', message } as const;
    const statusOverride = { ...end, ...(disruption !== undefined && { disruption }) };
    workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds, evict: true, statusOverride } });
    podEvicted.publish({ signal });
  }
}
