import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodStatus } from '#watch';
import { type Logger } from '#base/log/logger.js';
import { podHash } from '../actions/container-hash.js';
import { type ReplacedParts, sandboxIdsOf } from '../actions/replaced-parts.js';
import { type PodPlanner } from './sync-pod-planner.js';
import { type PodStatuses, type VolumeMounts } from './sync-pod-ports.js';

/** What a {@link PodRecreation} works with. */
export interface PodRecreationOptions {
  readonly planner: Pick<PodPlanner, 'isOutdated'>;
  readonly volumes: Pick<VolumeMounts, 'tearDown'>;
  readonly statuses: Pick<PodStatuses, 'renew'>;
  readonly startFailures: { forget(podUid: string): void };
  /** Without it, a pod whose edit is reverted before it was recreated counts as ended. */
  readonly replaced?: Pick<ReplacedParts, 'keep'> | undefined;
  readonly events: PodEventRecorder;
  readonly logger: Logger;
  /**
   * Ends everything alive of the pod, and returns its view after that. Rejects when something is still alive.
   */
  readonly end: (pod: NodePod, observed: PodStatus, signal: AbortSignal) => Promise<PodStatus>;
}

/**
 * Ends a pod whose immutable parts were edited, with all its state, so that it starts afresh.
 *
 * It gets fresh volumes and a new start time. Its uid stays, and so do its folder and its logs.
 *
 * The newest sandbox shows that the pod is outdated, until there is a newer one. So an agent that is killed
 * on the way, or that finds the edit at its start, does the same. If the edit is reverted on the way, the
 * sandbox matches the pod again. Therefore the agent records what it ends before it does so, and recreates
 * that.
 */
export class PodRecreation {
  readonly #options: PodRecreationOptions;
  /** What each pod was cleared for, by its uid: once is enough, however often its creation fails. */
  readonly #cleared = new Map<string, string>();

  constructor(options: PodRecreationOptions) {
    this.#options = options;
  }

  /** The view of the pod afterwards; undefined when there was nothing to do. */
  async clear(pod: NodePod, observed: PodStatus, signal: AbortSignal): Promise<PodStatus | undefined> {
    const { planner, volumes, statuses, startFailures, replaced, events, logger, end } = this.#options;
    const { metadata } = pod;
    if (metadata.deletionTimestamp !== undefined || !planner.isOutdated(pod, observed)) {
      this.forget(metadata.uid);
      return undefined;
    }
    const hash = podHash(pod);
    if (this.#cleared.get(metadata.uid) === hash) return undefined;
    logger.info('Pod was edited in fields that cannot change: recreating it', { pod: metadata }, 2);
    const message = 'Pod sandbox changed, it will be killed and re-created.';
    events.record(metadata, { type: 'Normal', reason: 'SandboxChanged', message });
    await replaced?.keep(metadata.uid, sandboxIdsOf(observed), observed);
    const seen = await end(pod, observed, signal);
    await volumes.tearDown(pod, signal);
    startFailures.forget(metadata.uid);
    statuses.renew(metadata.uid);
    this.#cleared.set(metadata.uid, hash);
    return seen;
  }

  forget(podUid: string): void {
    this.#cleared.delete(podUid);
  }
}
