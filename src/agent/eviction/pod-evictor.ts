import { type NodePod } from '../../model/node-pod.js';
import { type PodEventRecorder } from '../../model/pod-event-recorder.js';
import { podEvicted } from '../../util/start-channels.js';
import { type PodWorkers } from '../../workers/pod-workers.js';

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
  /** As a kubelet gives those that it evicts at once unless told. */
  readonly gracePeriodSeconds?: number;
}

const AT_ONCE_SECONDS = 1;

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

  /** Returns at once. Does nothing to a pod that is not active. */
  evict(pod: NodePod, { signal, message, gracePeriodSeconds = AT_ONCE_SECONDS }: PodEviction): void {
    if (!this.isActive(pod)) return;
    const { workers, events } = this.#options;
    events.record(pod.metadata, { type: 'Warning', reason: 'Evicted', message });
    const statusOverride = { phase: 'Failed', reason: 'Evicted', message, disruption: message } as const;
    workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds, evict: true, statusOverride } });
    podEvicted.publish({ signal });
  }
}
