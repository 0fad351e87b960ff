import { type NodePod } from '#kube/pod/node-pod.js';
import { ANNOTATIONS, type PodStatus } from '#watch';
import { PodloopError } from '#base/errors/errors.js';
import { Mutex } from '#base/async/mutex.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

import { containerHash, sandboxHash } from '../actions/container-hash.js';
import { type ContainerBaseline } from '../actions/pod-actions.js';
import { type ContainerBaselines } from '../sync/sync-pod-ports.js';

/** A sandbox or container of an adopted pod, made by the agent that left it. */
export interface AdoptedPart {
  readonly id: string;
  readonly kind: 'sandbox' | 'container';
  readonly name: string;
  /** The hash that its maker wrote on it; empty when there is none. Kept for people: only its maker can compute it. */
  readonly writtenHash: string;
  /** Our hash of what the manifest said of it when it was taken over; undefined when it said nothing of it. */
  readonly baseline?: string;
}

/** A pod that a kubelet left and that is ours now. */
export interface AdoptedPod {
  readonly namespace: string;
  /** With the node's name behind it. */
  readonly name: string;
  /** The one that it has in the runtime, which our pod of that name takes on. */
  readonly uid: string;
  readonly parts: readonly AdoptedPart[];
}

/**
 * Which pods of a kubelet are ours now. Kept in one file, written whole, and on the disk before anything is built on
 * it: what is not on record stays a stranger's.
 */
export class AdoptedPods implements ContainerBaselines {
  readonly #path: string;
  readonly #byUid: Map<string, AdoptedPod>;
  /** The write under way, and with it the order of writes. */
  readonly #writes = new Mutex();

  private constructor(path: string, pods: readonly AdoptedPod[]) {
    this.#path = path;
    this.#byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  }

  /** Rejects with OPTION_INVALID when the file holds something else: pods of ours would become strangers. */
  static async open(path: string): Promise<AdoptedPods> {
    const text = await readIfThere(path);
    return new AdoptedPods(path, text === undefined ? [] : parse(path, text));
  }

  all(): readonly AdoptedPod[] {
    return [...this.#byUid.values()];
  }

  has(uid: string): boolean {
    return this.#byUid.has(uid);
  }

  findByUid(uid: string): AdoptedPod | undefined {
    return this.#byUid.get(uid);
  }

  /** By the names that the pod has on this node. */
  find({ namespace, name }: { readonly namespace: string; readonly name: string }): AdoptedPod | undefined {
    return this.all().find((pod) => pod.namespace === namespace && pod.name === name);
  }

  /** Our hash of a container or sandbox as of when it was taken over. */
  findBaseline(id: string): string | undefined {
    for (const { parts } of this.#byUid.values()) {
      const part = parts.find((each) => each.id === id);
      if (part !== undefined) return part.baseline;
    }
    return undefined;
  }

  /** Takes a pod over as it is. `pod`: what its manifest says now, which counts as what it was made for. */
  async adopt(pod: NodePod, observed: PodStatus): Promise<AdoptedPod> {
    const { namespace, name } = pod.metadata;
    const { uid } = observed;
    const adopted: AdoptedPod = { namespace, name, uid, parts: partsOf(pod, observed) };
    await this.#change(() => this.#byUid.set(uid, adopted));
    return adopted;
  }

  /** Takes a pod over that nobody wants: nothing of it is compared with anything. */
  async adoptUnwanted({ namespace, name, uid }: PodStatus): Promise<void> {
    await this.#change(() => this.#byUid.set(uid, { namespace, name, uid, parts: [] }));
  }

  /** Adds what the record of an adopted pod lacks; of other pods there is nothing to keep. */
  async keep({ metadata: { uid } }: NodePod, baselines: readonly ContainerBaseline[]): Promise<void> {
    const adopted = this.#byUid.get(uid);
    if (adopted === undefined) return;
    const fresh = new Map(baselines.map(({ containerId, hash }) => [containerId, hash]));
    const known = adopted.parts.map((part) => {
      const baseline = part.baseline ?? fresh.get(part.id);
      fresh.delete(part.id);
      return baseline === undefined ? part : { ...part, baseline };
    });
    const added = [...fresh].map(([id, baseline]): AdoptedPart => ({
      id,
      kind: 'container',
      name: '',
      writtenHash: '',
      baseline,
    }));
    await this.#change(() => this.#byUid.set(uid, { ...adopted, parts: [...known, ...added] }));
  }

  /** Nothing of the pod is left. */
  async forget(uid: string): Promise<void> {
    if (this.#byUid.has(uid)) await this.#change(() => this.#byUid.delete(uid));
  }

  /** In memory only once it is on the disk: nobody may build on what a crash would take back. */
  async #change(change: () => unknown): Promise<void> {
    const write = async (): Promise<void> => {
      const before = new Map(this.#byUid);
      change();
      const text = `${JSON.stringify({ pods: this.all() }, undefined, 2)}\n`;
      const after = new Map(this.#byUid);
      this.#replace(before);
      await writeWhole(this.#path, text);
      this.#replace(after);
    };
    await this.#writes.run(write);
  }

  #replace(pods: ReadonlyMap<string, AdoptedPod>): void {
    this.#byUid.clear();
    for (const [uid, pod] of pods) this.#byUid.set(uid, pod);
  }
}

function partsOf(pod: NodePod, { sandboxes, containers }: PodStatus): AdoptedPart[] {
  const wanted = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return [
    ...sandboxes.map(({ id }): AdoptedPart => ({
      ...{ id, kind: 'sandbox', name: pod.metadata.name, writtenHash: '' },
      baseline: sandboxHash(pod),
    })),
    ...containers.map(({ id, name, annotations }): AdoptedPart => {
      const container = wanted.find((each) => each.name === name);
      return {
        ...{ id, kind: 'container', name, writtenHash: annotations[ANNOTATIONS.hash] ?? '' },
        ...(container === undefined ? {} : { baseline: containerHash(container, pod.spec) }),
      };
    }),
  ];
}

function parse(path: string, text: string): AdoptedPod[] {
  try {
    const { pods } = JSON.parse(text) as { pods?: unknown };
    if (Array.isArray(pods) && pods.every(isAdoptedPod)) return pods;
  } catch {
    // What is no JSON is no record either.
  }
  throw new PodloopError(
    'OPTION_INVALID',
    `${path} is not a record of the pods that were taken over from a kubelet; put the record back, or remove the file together with those pods`,
  );
}

function isAdoptedPod(value: unknown): value is AdoptedPod {
  const { namespace, name, uid, parts } = (value ?? {}) as Partial<Record<keyof AdoptedPod, unknown>>;
  return [namespace, name, uid].every((each) => typeof each === 'string') && Array.isArray(parts);
}
