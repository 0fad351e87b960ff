import { ListContainersResponse, ListPodSandboxResponse } from '../cri/generated/runtime/v1/cri.js';
import { SliceYielder } from '../util/slices.js';
import { type RecordingFile } from './recording-file.js';
import { type RecordedCall } from './timeline.js';

/** A pod that was listed. */
export interface RecordedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const MOST_PODS = 10_000;
const LISTS_PER_SLICE = 5;

/** The pods that were ever listed in a recording, and to which of them ids of containers and sandboxes belong. */
export class RecordedPods {
  readonly #pods = new Map<string, RecordedPod>();
  readonly #podOfSandbox = new Map<string, RecordedPod>();
  readonly #sandboxOfContainer = new Map<string, string>();

  /** Looks into each different list once. */
  static async find(
    file: RecordingFile,
    calls: readonly RecordedCall[],
    signal?: AbortSignal,
  ): Promise<RecordedPods> {
    const found = new RecordedPods();
    const seen = new Set<number>();
    const slices = new SliceYielder({ itemsPerSlice: LISTS_PER_SLICE });
    for (const { method, messages } of calls) {
      const isOfSandboxes = method.name === 'ListPodSandbox' || method.name === 'StreamPodSandboxes';
      if (!isOfSandboxes && method.name !== 'ListContainers' && method.name !== 'StreamContainers') continue;
      for (const { blob } of messages) {
        if (seen.has(blob)) continue;
        seen.add(blob);
        signal?.throwIfAborted();
        const list = await file.readBlob(blob);
        try {
          if (isOfSandboxes) found.#learnSandboxes(list);
          else found.#learnContainers(list);
        } catch {
          // One that cannot be read tells of nobody.
        }
        if (slices.isFull()) await slices.nextSlice();
      }
    }
    return found;
  }

  get all(): readonly RecordedPod[] {
    return [...this.#pods.values()];
  }

  /** `namespace/name` of the pod to which a container or a sandbox belongs; empty when that is not known. */
  nameOf(id: string): string {
    const pod = this.#podOfSandbox.get(this.#sandboxOfContainer.get(id) ?? id);
    return pod === undefined ? '' : `${pod.namespace}/${pod.name}`;
  }

  #learnSandboxes(list: Buffer): void {
    for (const { id, metadata } of ListPodSandboxResponse.decode(list).items) {
      if (metadata === undefined || this.#podOfSandbox.size >= MOST_PODS) continue;
      const { namespace, name, uid } = metadata;
      const pod = this.#pods.get(uid) ?? { namespace, name, uid };
      this.#pods.set(uid, pod);
      this.#podOfSandbox.set(id, pod);
    }
  }

  #learnContainers(list: Buffer): void {
    for (const { id, podSandboxId } of ListContainersResponse.decode(list).containers) {
      if (this.#sandboxOfContainer.size < MOST_PODS * 10) this.#sandboxOfContainer.set(id, podSandboxId);
    }
  }
}
