/**
 * Adopts pods that a kubelet left, on the way from their manifests to the sync loop.
 *
 * In: what the sources want, under the uids that follow from manifests. Out: the same, but an adopted pod has
 * the uid that it has in the runtime. Later parts know it by no other uid; `manifestUid` has the source's. A
 * pod is adopted when its manifest comes and the runtime has a pod of the same namespace and name with a
 * kubelet's labels and no owner's mark. That is on disk before the pod is handed on. An adopted pod stays
 * adopted until nothing of it is left. A pod of an API server is adopted only under its own uid: another pod
 * of that name is a former one, which nobody wants any more.
 *
 * It assumes that the kubelet has ended: otherwise both would manage the pod, each in its own way.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { API_SOURCE, isClusterPod, STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { checkUid } from '#kube/validation/name-rules.js';
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
  /** Whether further pods may be adopted. */
  readonly isAdopting: boolean;
  /** A pod was adopted under this uid: called before it is handed on. */
  readonly onAdopted?: (uid: string) => void;
}

/** See the module. */
export class PodAdoption {
  readonly #options: PodAdoptionOptions;
  readonly #logger: Logger;
  /** The uids under which wanted pods were handed on, by the uids of their manifests. */
  readonly #given = new Map<string, string>();
  /**
   * The uids that a kubelet left, as the first list showed them.
   *
   * As it has ended, a pod that an API server sends later under another uid never was its pod.
   */
  #uidsLeft: ReadonlySet<string> | undefined;

  constructor(options: PodAdoptionOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /**
   * Ends with the updates or when the signal aborts. Requesting the next update marks the last one as
   * processed.
   */
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

  /** The uid under which the pod of that manifest was handed on; another one only if the pod was adopted. */
  uidOf(manifestUid: string): string {
    return this.#given.get(manifestUid) ?? manifestUid;
  }

  /** Forgets unwanted pods of which nothing is left. `isGone`: nothing of the pod is visible any more. */
  async forgetGone(isGone: (uid: string) => boolean): Promise<void> {
    // Computed for each, as a manifest may come while another pod is forgotten.
    const isWanted = (uid: string): boolean => [...this.#given.values()].includes(uid);
    for (const { uid } of this.#options.adopted.all()) {
      if (isGone(uid) && !isWanted(uid)) await this.#options.adopted.forget(uid);
    }
  }

  /**
   * Unadopted pods that a kubelet had from its API server.
   *
   * Pods of its manifests are left alone, as those may simply not have been passed to this agent.
   */
  findLeft(observed: Iterable<PodStatus>): PodStatus[] {
    const { adopted, isAdopting } = this.#options;
    if (!isAdopting) return [];
    return [...observed].filter((status) => {
      const { uid, owner, sandboxes } = status;
      const isOfApi = sandboxes.some(
        ({ annotations }) => annotations[STATIC_POD_ANNOTATIONS.source] === API_SOURCE,
      );
      if (owner !== 'kubernetes' || !isOfApi || adopted.has(uid) || !hasUsableUid(status)) return false;
      return !isBegun(status);
    });
  }

  /** Adopts unwanted pods, so that they end like owned ones: a kubelet would have ended them. */
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

  /** Retries while the runtime does not answer: nothing could be started in it either. */
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
        this.#logger.error('Cannot list pods to take over, trying again', error);
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
      const candidates = sortCandidates(pod, listed);
      const left = candidates.find(hasUsableUid);
      if (left === undefined) {
        for (const { uid } of candidates) {
          const message = 'Pod is not taken over: folders cannot be named after its uid';
          this.#logger.warn(message, { ...names, leftUID: uid });
        }
        continue;
      }
      if (listed.some(({ uid, owner }) => uid === pod.metadata.uid && owner === 'podloop')) {
        const message = 'Pod is not taken over: this agent has one of the same name already';
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

/** Whether a podloop, perhaps another one, has begun to manage it. */
function isBegun({ sandboxes, containers }: PodStatus): boolean {
  return [...sandboxes, ...containers].some(({ labels }) => ownerOf(labels) === 'podloop');
}

/**
 * Whether folders and cgroups may be named after the uid. Kubelets accept any text in their manifests, so that
 * it could be a path that leads out of the agent's folders.
 */
function hasUsableUid({ uid }: Pick<ObservedPod, 'uid'>): boolean {
  return checkUid(uid) === undefined;
}

/** Pods of a kubelet with the pod's names, best candidate first: running before ended, then the newest. */
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
