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
  /** Without it a pod that is edited back before it was made anew goes by how it was ended. */
  readonly replaced?: Pick<ReplacedParts, 'keep'> | undefined;
  readonly events: PodEventRecorder;
  readonly logger: Logger;
  /** Ends all of the pod that is alive; gives what is to be seen of it then. Rejects when something still is. */
  readonly end: (pod: NodePod, observed: PodStatus, signal: AbortSignal) => Promise<PodStatus>;
}

/**
 * Ends a pod that was edited in what it is made of, with all that it had, so that what is made next begins from the
 * start: with fresh volumes, at a new start time. Its uid stays, and with it its folder and its logs.
 *
 * That the pod is outdated stands on its newest sandbox until there is a newer one, so that an agent that is killed on
 * the way, or finds the edit at its start, does the same. An edit may be taken back on the way, and the sandbox then
 * stands for what the pod says again: so what is about to be ended is written down before, and what was is made anew.
 */
export class PodRecreation {
  readonly #options: PodRecreationOptions;
  /** For what each pod was cleared, by its uid: once is enough, however often it then cannot be made. */
  readonly #cleared = new Map<string, string>();

  constructor(options: PodRecreationOptions) {
    this.#options = options;
  }

  /** What is to be seen of the pod afterwards; undefined when there was nothing to do. */
  async clear(pod: NodePod, observed: PodStatus, signal: AbortSignal): Promise<PodStatus | undefined> {
    const { planner, volumes, statuses, startFailures, replaced, events, logger, end } = this.#options;
    const { metadata } = pod;
    if (metadata.deletionTimestamp !== undefined || !planner.isOutdated(pod, observed)) {
      this.forget(metadata.uid);
      return undefined;
    }
    const hash = podHash(pod);
    if (this.#cleared.get(metadata.uid) === hash) return undefined;
    logger.info('Pod was edited in what it is made of: it is made anew', { pod: metadata }, 2);
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
