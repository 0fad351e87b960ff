/**
 * Takes pods over that a kubelet left, on the way from their manifests to the sync loop.
 *
 * In: what the sources want, under the uids that follow from manifests. Out: the same, where a pod was taken over under
 * the uid that it has in the runtime: whoever comes behind knows it by no other, and finds its source's in `manifestUid`. A pod is taken over when its manifest comes
 * and the runtime has one of the same namespace and name with a kubelet's labels and nobody's mark; that is on the disk
 * before the pod is handed on. One that was taken over once stays so until nothing of it is left. A pod of an API server
 * is taken over under its own uid alone: another one of that name is a former pod, which is not wanted any more.
 *
 * It assumes that the kubelet has ended: both would look after the pod otherwise, each in its own way.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { API_SOURCE, isClusterPod, STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { type ObservedPod, ownerOf, type PodStatus, type Runtime } from '#watch';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

import { type AdoptedPod, type AdoptedPods } from './adopted-pods.js';

/** What a {@link PodAdoption} needs. */
export interface PodAdoptionOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly adopted: AdoptedPods;
  readonly runtime: Pick<Runtime, 'listPods' | 'getPodStatus'>;
  /** Whether pods are taken over that were not before. */
  readonly isAdopting: boolean;
  /** A pod was taken over, under this uid: called before it is handed on. */
  readonly onAdopted?: (uid: string) => void;
}

/** See the module. */
export class PodAdoption {
  readonly #options: PodAdoptionOptions;
  readonly #logger: Logger;
  /** The uids under which pods were handed on and are wanted, by those of their manifests. */
  readonly #given = new Map<string, string>();
  /**
   * Uids of what a kubelet left, as the first look showed them: it has ended, so what an API server sends later under another
   * one never was its pod.
   */
  #uidsLeft: ReadonlySet<string> | undefined;

  constructor(options: PodAdoptionOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Ends with the updates, or when the signal aborts. An update counts as dealt with when the next one is asked for. */
  async *updates(
    updates: AsyncIterable<PodUpdate>,
    signal: AbortSignal,
  ): AsyncGenerator<PodUpdate, void, undefined> {
    for await (const update of updates) {
      if (update.type === 'ADD') await this.#adoptAll(update.pods, signal);
      if (signal.aborted) return;
      yield { ...update, pods: update.pods.map((pod) => withUid(pod, this.uidOf(pod.metadata.uid))) };
      if (update.type === 'REMOVE') for (const pod of update.pods) this.#given.delete(pod.metadata.uid);
    }
  }

  /** The uid under which the pod of that manifest was handed on; the same one unless it was taken over. */
  uidOf(manifestUid: string): string {
    return this.#given.get(manifestUid) ?? manifestUid;
  }

  /** Forgets pods of which nothing is left and that nobody wants. `isGone`: of those nothing is visible any more. */
  async forgetGone(isGone: (uid: string) => boolean): Promise<void> {
    // Asked anew for each: a manifest may come while another pod is forgotten.
    const isWanted = (uid: string): boolean => [...this.#given.values()].includes(uid);
    for (const { uid } of this.#options.adopted.all()) {
      if (isGone(uid) && !isWanted(uid)) await this.#options.adopted.forget(uid);
    }
  }

  /**
   * Those that a kubelet had from its API server and that were not taken over. Pods of its manifests are left alone, as their
   * manifests may just not have been named.
   */
  findLeft(observed: Iterable<PodStatus>): PodStatus[] {
    const { adopted, isAdopting } = this.#options;
    if (!isAdopting) return [];
    return [...observed].filter((status) => {
      const { uid, owner, sandboxes } = status;
      const isOfApi = sandboxes.some(
        ({ annotations }) => annotations[STATIC_POD_ANNOTATIONS.source] === API_SOURCE,
      );
      if (owner !== 'kubernetes' || !isOfApi || adopted.has(uid)) return false;
      return !isBegun(status);
    });
  }

  /** Takes over what nobody wants, so that it ends as one of ours does: a kubelet would have ended it. */
  async takeUnwanted(left: readonly PodStatus[]): Promise<void> {
    for (const status of left) {
      const { uid } = status;
      await this.#options.adopted.adoptUnwanted(status);
      this.#logger.info('Pod is taken over to be ended: nobody wants it', { pod: status, podUID: uid }, 0);
    }
  }

  async #adoptAll(pods: readonly NodePod[], signal: AbortSignal): Promise<void> {
    const { isAdopting } = this.#options;
    const unknown = pods.filter((pod) => this.#findRecord(pod) === undefined && this.#mayBeLeft(pod));
    if (isAdopting && unknown.length > 0) await this.#tryUntilDone(unknown, signal);
    for (const pod of pods) {
      const { uid } = pod.metadata;
      this.#given.set(uid, this.#findRecord(pod)?.uid ?? uid);
    }
  }

  #findRecord(pod: NodePod): AdoptedPod | undefined {
    const { adopted } = this.#options;
    return isClusterPod(pod) ? adopted.findByUid(pod.metadata.uid) : adopted.find(pod.metadata);
  }

  #mayBeLeft(pod: NodePod): boolean {
    return !isClusterPod(pod) || this.#uidsLeft === undefined || this.#uidsLeft.has(pod.metadata.uid);
  }

  /** A runtime that cannot be asked keeps the pods waiting: nothing could be started in it either. */
  async #tryUntilDone(pods: readonly NodePod[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const backoff = new Backoff({ initialMs: 100, maxMs: 5_000 });
    const isEnding = (): boolean => signal.aborted;
    while (!isEnding()) {
      try {
        await this.#lookAndAdopt(pods, signal);
        return;
      } catch (error) {
        if (isEnding()) return;
        this.#logger.error('Cannot look for pods to take over, trying again', error);
        await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
      }
    }
  }

  async #lookAndAdopt(pods: readonly NodePod[], signal: AbortSignal): Promise<void> {
    const { runtime, adopted, onAdopted } = this.#options;
    const listed = await runtime.listPods(signal);
    this.#uidsLeft ??= new Set(listed.filter(({ owner }) => owner === 'kubernetes').map(({ uid }) => uid));
    for (const pod of pods) {
      if (this.#findRecord(pod) !== undefined) continue;
      const names = { pod: pod.metadata, podUID: pod.metadata.uid };
      const [left] = sortCandidates(pod, listed);
      if (left === undefined) continue;
      if (listed.some(({ uid, owner }) => uid === pod.metadata.uid && owner === 'podloop')) {
        const message = 'Pod is not taken over: ours of the same name is there already';
        this.#logger.warn(message, { ...names, leftUID: left.uid });
        continue;
      }
      const status = await runtime.getPodStatus(left, signal);
      if (isBegun(status)) continue;
      await adopted.adopt(pod, status);
      onAdopted?.(left.uid);
      this.#logger.info('Pod is taken over as it is', { ...names, podUID: left.uid }, 0);
    }
  }
}

/** Whether a podloop, perhaps another one, has begun to look after it. */
function isBegun({ sandboxes, containers }: PodStatus): boolean {
  return [...sandboxes, ...containers].some(({ labels }) => ownerOf(labels) === 'podloop');
}

/** Pods of a kubelet with the pod's names, the one to take first: what runs before what has ended, then the newest. */
function sortCandidates(pod: NodePod, listed: readonly ObservedPod[]): ObservedPod[] {
  const { metadata } = pod;
  const isOnlyItself = isClusterPod(pod);
  const isAlive = ({ sandboxes, containers }: ObservedPod): boolean =>
    [...sandboxes, ...containers].some(({ state }) => state === 'running');
  const createdAtNs = ({ sandboxes, containers }: ObservedPod): bigint =>
    [...sandboxes, ...containers].reduce((newest, each) => {
      return each.createdAtNs > newest ? each.createdAtNs : newest;
    }, 0n);
  return listed
    .filter(({ owner, namespace, name, uid }) => {
      if (isOnlyItself && uid !== metadata.uid) return false;
      return owner === 'kubernetes' && namespace === metadata.namespace && name === metadata.name;
    })
    .toSorted((one, other) => {
      const byLife = Number(isAlive(other)) - Number(isAlive(one));
      return byLife !== 0 ? byLife : createdAtNs(other) > createdAtNs(one) ? 1 : -1;
    });
}

function withUid(pod: NodePod, uid: string): NodePod {
  if (pod.metadata.uid === uid) return pod;
  const annotations = { ...pod.metadata.annotations, [STATIC_POD_ANNOTATIONS.uid]: uid };
  return { ...pod, metadata: { ...pod.metadata, uid, manifestUid: pod.metadata.uid, annotations } };
}
