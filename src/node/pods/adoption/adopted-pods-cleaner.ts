import { isClusterPod } from '#kube/pod/static-pod.js';
import { type PodCache, type PodStatus } from '#watch';
import { type Logger } from '#base/log/logger.js';
import { type PodWorkers } from '../workers/pod-workers.js';

import { type PodAdoption } from './adopt-pods.js';
import { type AdoptedPods } from './adopted-pods.js';
import { type DesiredPods } from '../loop/desired-pods.js';
import { type CleanupView, type PodCleaner } from '../loop/housekeeping.js';

/** What an {@link AdoptedPodsCleaner} needs. */
export interface AdoptedPodsCleanerOptions {
  readonly adoption: Pick<PodAdoption, 'forgetGone' | 'findLeft' | 'takeUnwanted'>;
  readonly adopted: Pick<AdoptedPods, 'all'>;
  readonly cache: Pick<PodCache, 'get' | 'uids'>;
  readonly desired: Pick<DesiredPods, 'find' | 'has'>;
  readonly workers: Pick<PodWorkers, 'isKnown'>;
  readonly seenAllSources: () => boolean;
  /**
   * The agent is ending all its pods whatever the sources want; that does not concern pods that were not
   * adopted.
   */
  readonly isNothingWanted: () => boolean;
  /**
   * Whether the Node belonged to a kubelet on this very machine; undefined until known, and without an API
   * server.
   */
  readonly isNodeOfKubeletHere: () => boolean | undefined;
  readonly logger: Logger;
}

/**
 * Forgets adopted pods that are gone, and adopts unwanted pods of a kubelet in order to end them.
 *
 * An empty list of the API server's pods for this Node says something about the machine only if the Node
 * belonged to the kubelet that made them: under another name all of them are missing. So pods are adopted
 * only if the Node is known to have been this machine's, or if one that the kubelet ran here is wanted on it.
 */
export class AdoptedPodsCleaner implements PodCleaner {
  readonly name = 'adopted pods';
  readonly #options: AdoptedPodsCleanerOptions;
  #hasLogged = false;

  constructor(options: AdoptedPodsCleanerOptions) {
    this.#options = options;
  }

  async cleanUp(view: Pick<CleanupView, 'mayRemove'>): Promise<'more' | undefined> {
    const { adoption, cache } = this.#options;
    const isEmpty = (uid: string): boolean => {
      const { sandboxes, containers } = cache.get(uid).status;
      return sandboxes.length + containers.length === 0;
    };
    await adoption.forgetGone((uid) => view.mayRemove(uid) && isEmpty(uid));
    const { isNodeOfKubeletHere, isNothingWanted, seenAllSources } = this.#options;
    const isOurNode = isNodeOfKubeletHere();
    if (isOurNode === undefined || isNothingWanted() || !seenAllSources()) return undefined;
    const left = adoption.findLeft(this.#unwanted());
    if (left.length === 0) return undefined;
    if (!isOurNode && !this.#runsPodOfKubelet()) {
      this.#logOnce(left);
      return undefined;
    }
    await adoption.takeUnwanted(left);
    // They end with the next run.
    return 'more';
  }

  *#unwanted(): Generator<PodStatus, void, undefined> {
    const { cache, desired, workers } = this.#options;
    for (const uid of cache.uids()) {
      if (!desired.has(uid) && !workers.isKnown(uid)) yield cache.get(uid).status;
    }
  }

  /** Whether a pod of an API server that the kubelet ran here is on this Node. */
  #runsPodOfKubelet(): boolean {
    const { adopted, desired } = this.#options;
    return adopted.all().some(({ uid }) => {
      const pod = desired.find(uid);
      return pod !== undefined && isClusterPod(pod);
    });
  }

  #logOnce(left: readonly PodStatus[]): void {
    if (this.#hasLogged) return;
    this.#hasLogged = true;
    this.#options.logger.warn(
      "Pods of a kubelet that the API server does not have on this Node are left alone: the Node was not that of this machine's kubelet; is --node-name the kubelet's?",
      { pods: left.map(({ namespace, name }) => `${namespace}/${name}`) },
    );
  }
}
