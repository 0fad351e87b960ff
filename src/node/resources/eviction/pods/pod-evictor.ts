import { AT_ONCE_SECONDS } from '../eviction-rules.js';
import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { podEvicted } from '#base/channels/start-channels.js';
import { type PodWorkers } from '../../../pods/workers/pod-workers.js';

/** What {@link PodEvictor} needs. */
export interface PodEvictorOptions extends Publisher {
  readonly workers: Pick<PodWorkers, 'isKnown' | 'isTerminationRequested' | 'isFinished' | 'updatePod'>;
  readonly events: PodEventRecorder;
}

/** Why a pod is evicted, and its grace period. */
export interface PodEviction {
  /** The value of the kubelet's label eviction_signal. */
  readonly signal: string;
  readonly message: string;
  /**
   * The reason of its condition DisruptionTarget: it ends for the sake of others. Absent if it exceeds its
   * own limits.
   */
  readonly disruption?: string;
  /** Default: the kubelet's for immediate evictions. */
  readonly gracePeriodSeconds?: number;
  /** How old the measurement is by which the node is short of something. */
  readonly statsAgeMs?: number;
}

/** Ends pods for good because of what they use of the node, in the kubelet's words. */
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
   * Whether a pod that exceeds its own limits ends for that.
   *
   * A critical pod of a cluster does not, as with a kubelet: the node would not work without it. A static one
   * does, unlike there: its manifest's limits apply.
   */
  isHeldToLimits(pod: NodePod): boolean {
    return this.isActive(pod) && !(isClusterPod(pod) && isCriticalPod(pod));
  }

  /** Returns at once. Does nothing to a pod that is not active. */
  evict(pod: NodePod, eviction: PodEviction): void {
    if (!this.isActive(pod)) return;
    const { signal, message, disruption, gracePeriodSeconds = AT_ONCE_SECONDS, statsAgeMs } = eviction;
    const { workers, events } = this.#options;
    events.record(pod.metadata, { type: 'Warning', reason: 'Evicted', message });
    const end = { phase: 'Failed', reason: 'Evicted', message } as const;
    const statusOverride = { ...end, ...(disruption !== undefined && { disruption }) };
    workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds, evict: true, statusOverride } });
    publishTo(this.#options.channels, podEvicted, { signal, statsAgeMs });
  }
}
