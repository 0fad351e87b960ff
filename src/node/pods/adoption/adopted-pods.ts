import { type NodePod } from '#kube/pod/node-pod.js';
import { ANNOTATIONS, type PodStatus } from '#watch';
import { PodloopError } from '#base/errors/errors.js';
import { Mutex } from '#base/async/mutex.js';
import { RecordFile } from '#base/fs/record-file.js';
import { containerHash, sandboxHash } from '../actions/container-hash.js';
import { type ContainerBaseline } from '../actions/pod-actions.js';
import { type ContainerBaselines } from '../sync/sync-pod-ports.js';

/** A sandbox or container of an adopted pod, created by the agent that left it. */
export interface AdoptedPart {
  readonly id: string;
  readonly kind: 'sandbox' | 'container';
  readonly name: string;
  /** The hash that its creator wrote on it, or ''. For people only: nobody else can compute it. */
  readonly writtenHash: string;
  /** podloop's hash of its definition at adoption; undefined when the manifest did not mention it. */
  readonly baseline?: string;
}

/** A pod that a kubelet left and that this agent owns now. */
export interface AdoptedPod {
  readonly namespace: string;
  /** With the node's name as its suffix. */
  readonly name: string;
  /** Its uid in the runtime, which the desired pod of that name takes over. */
  readonly uid: string;
  readonly parts: readonly AdoptedPart[];
}

/**
 * The record of adopted pods: one file, written as a whole, and on disk before anything relies on it.
 *
 * A pod that is not on record stays foreign.
 */
export class AdoptedPods implements ContainerBaselines {
  readonly #file: RecordFile<readonly AdoptedPod[]>;
  readonly #byUid: Map<string, AdoptedPod>;
  /** Serializes the writes. */
  readonly #writes = new Mutex();

  private constructor(file: RecordFile<readonly AdoptedPod[]>, pods: readonly AdoptedPod[]) {
    this.#file = file;
    this.#byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  }

  /** Rejects with OPTION_INVALID when the file is not a record: owned pods would become foreign. */
  static async open(path: string): Promise<AdoptedPods> {
    const file = new RecordFile<readonly AdoptedPod[]>({ path, parse, format: (pods) => ({ pods }) });
    const known = await file.read(() => {
      const message = `${path} is not a record of the pods that were taken over from a kubelet; put the record back, or remove the file together with those pods`;
      throw new PodloopError('OPTION_INVALID', message);
    });
    return new AdoptedPods(file, known ?? []);
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

  /** By the pod's names on this node. */
  find({ namespace, name }: { readonly namespace: string; readonly name: string }): AdoptedPod | undefined {
    return this.all().find((pod) => pod.namespace === namespace && pod.name === name);
  }

  /** podloop's hash of a container or sandbox at adoption. */
  findBaseline(id: string): string | undefined {
    for (const { parts } of this.#byUid.values()) {
      const part = parts.find((each) => each.id === id);
      if (part !== undefined) return part.baseline;
    }
    return undefined;
  }

  /**
   * Adopts a pod as it is. `pod`: what its manifest says now, which counts as the definition that it was
   * created from.
   */
  async adopt(pod: NodePod, observed: PodStatus): Promise<AdoptedPod> {
    const { namespace, name } = pod.metadata;
    const { uid } = observed;
    const adopted: AdoptedPod = { namespace, name, uid, parts: partsOf(pod, observed) };
    await this.#change(() => this.#byUid.set(uid, adopted));
    return adopted;
  }

  /** Adopts a pod that nobody wants, without baselines. */
  async adoptUnwanted({ namespace, name, uid }: PodStatus): Promise<void> {
    await this.#change(() => this.#byUid.set(uid, { namespace, name, uid, parts: [] }));
  }

  /** Adds missing baselines to the record of an adopted pod; ignores other pods. */
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

  /** Changes memory only after the disk, so that nothing relies on what a crash would undo. */
  async #change(change: () => unknown): Promise<void> {
    const write = async (): Promise<void> => {
      const before = new Map(this.#byUid);
      change();
      const after = new Map(this.#byUid);
      this.#replace(before);
      await this.#file.write([...after.values()]);
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

function parse({ pods }: Readonly<Record<string, unknown>>): readonly AdoptedPod[] {
  if (!Array.isArray(pods) || !pods.every(isAdoptedPod)) throw new Error('it is not what was written');
  return pods;
}

function isAdoptedPod(value: unknown): value is AdoptedPod {
  const { namespace, name, uid, parts } = (value ?? {}) as Partial<Record<keyof AdoptedPod, unknown>>;
  return [namespace, name, uid].every((each) => typeof each === 'string') && Array.isArray(parts);
}
