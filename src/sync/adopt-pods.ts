/**
 * Takes pods over that a kubelet left, on the way from their manifests to the sync loop.
 *
 * In: what the sources want, under the uids that follow from manifests. Out: the same, where a pod was taken over under
 * the uid that it has in the runtime: whoever comes behind knows no other. A pod is taken over when its manifest comes
 * and the runtime has one of the same namespace and name with a kubelet's labels and nobody's mark; that is on the disk
 * before the pod is handed on. One that was taken over once stays so until nothing of it is left.
 *
 * It assumes that the kubelet has ended: both would look after the pod otherwise, each in its own way.
 *
 * @module
 */
import { type NodePod } from '../model/node-pod.js';
import { type PodUpdate } from '../model/pod-update.js';
import { STATIC_POD_ANNOTATIONS } from '../model/static-pod.js';
import { ownerOf } from '../runtime/labels.js';
import { type ObservedPod, type Runtime } from '../runtime/runtime.js';
import { Backoff } from '../util/backoff.js';
import { type Clock } from '../util/clock.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';

import { type AdoptedPods } from './adopted-pods.js';

/** What a {@link PodAdoption} needs. */
export interface PodAdoptionOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly adopted: AdoptedPods;
  readonly runtime: Pick<Runtime, 'listPods' | 'getPodStatus'>;
  /** Whether pods are taken over that were not before. */
  readonly isAdopting: boolean;
}

/** See the module. */
export class PodAdoption {
  readonly #options: PodAdoptionOptions;
  readonly #logger: Logger;
  /** The uids under which pods were handed on and are wanted, by those of their manifests. */
  readonly #given = new Map<string, string>();

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
      yield { ...update, pods: update.pods.map((pod) => withUid(pod, this.#uidOf(pod))) };
      if (update.type === 'REMOVE') for (const pod of update.pods) this.#given.delete(pod.metadata.uid);
    }
  }

  /** Forgets pods of which nothing is left and that nobody wants. `isGone`: of those nothing is visible any more. */
  async forgetGone(isGone: (uid: string) => boolean): Promise<void> {
    const wanted = new Set(this.#given.values());
    for (const { uid } of this.#options.adopted.all()) {
      if (!wanted.has(uid) && isGone(uid)) await this.#options.adopted.forget(uid);
    }
  }

  #uidOf({ metadata }: NodePod): string {
    return this.#given.get(metadata.uid) ?? metadata.uid;
  }

  async #adoptAll(pods: readonly NodePod[], signal: AbortSignal): Promise<void> {
    const { adopted, isAdopting } = this.#options;
    const unknown = pods.filter((pod) => adopted.find(pod.metadata) === undefined);
    if (isAdopting && unknown.length > 0) await this.#tryUntilDone(unknown, signal);
    for (const { metadata } of pods) {
      this.#given.set(metadata.uid, adopted.find(metadata)?.uid ?? metadata.uid);
    }
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
    const { runtime, adopted } = this.#options;
    const listed = await runtime.listPods(signal);
    for (const pod of pods) {
      if (adopted.find(pod.metadata) !== undefined) continue;
      const names = { pod: pod.metadata, podUID: pod.metadata.uid };
      const [left] = findLeft(pod, listed);
      if (left === undefined) continue;
      if (listed.some(({ uid, owner }) => uid === pod.metadata.uid && owner === 'podloop')) {
        const message = 'Pod is not taken over: ours of the same name is there already';
        this.#logger.warn(message, { ...names, leftUID: left.uid });
        continue;
      }
      const status = await runtime.getPodStatus(left, signal);
      const parts = [...status.sandboxes, ...status.containers];
      // Somebody else has begun to look after it.
      if (parts.some(({ labels }) => ownerOf(labels) === 'podloop')) continue;
      await adopted.adopt(pod, status);
      this.#logger.info('Pod is taken over as it is', { ...names, podUID: left.uid }, 0);
    }
  }
}

/** Pods of a kubelet with the pod's names, the one to take first: what runs before what has ended, then the newest. */
function findLeft({ metadata }: NodePod, listed: readonly ObservedPod[]): ObservedPod[] {
  const isAlive = ({ sandboxes, containers }: ObservedPod): boolean =>
    [...sandboxes, ...containers].some(({ state }) => state === 'running');
  const createdAtNs = ({ sandboxes, containers }: ObservedPod): bigint =>
    [...sandboxes, ...containers].reduce((newest, each) => {
      return each.createdAtNs > newest ? each.createdAtNs : newest;
    }, 0n);
  return listed
    .filter(({ owner, namespace, name }) => {
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
  return { ...pod, metadata: { ...pod.metadata, uid, annotations } };
}
