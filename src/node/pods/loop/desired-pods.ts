import { type NodePod } from '#kube/pod/node-pod.js';

/** Why a desired pod does not run here, as its status reports it. */
export interface Rejection {
  /** CamelCase: OutOfcpu, NodePorts … */
  readonly reason: string;
  readonly message: string;
}

/** What a pod waits for before it starts, as its status and an event report it. */
export interface Wait {
  readonly message: string;
  /**
   * The pods that have what it needs, until they have ended; for a held pod also those that it waited for
   * before.
   */
  readonly uids: readonly string[];
  /** It waits for nothing but an edit that takes its gates off, and claims nothing meanwhile. */
  readonly isGated?: boolean;
}

/**
 * The pods that the sources want on this node, by uid, as the sync loop knows them.
 *
 * Only the sync loop's handlers write it; everybody may read it. A rejected pod stays desired, but no worker
 * syncs it.
 */
export class DesiredPods {
  readonly #pods = new Map<string, NodePod>();
  readonly #rejections = new Map<string, Rejection>();
  readonly #held = new Map<string, Wait>();
  readonly #listeners = new Set<() => void>();
  #revision = 0;

  /** Changes with every change of the set. */
  get revision(): number {
    return this.#revision;
  }

  /** Calls `listener` after each change of the set. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  get size(): number {
    return this.#pods.size;
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  find(uid: string): NodePod | undefined {
    return this.#pods.get(uid);
  }

  /** All desired pods, in the order in which they first came. */
  all(): IterableIterator<NodePod> {
    return this.#pods.values();
  }

  /** A new set of all desired uids. */
  uids(): Set<string> {
    return new Set(this.#pods.keys());
  }

  /** Adds a pod, or replaces it by a newer version. */
  set(pod: NodePod): void {
    this.#pods.set(pod.metadata.uid, pod);
    this.#changed();
  }

  /** Undefined when the pod was admitted, or is not desired. */
  findRejection(uid: string): Rejection | undefined {
    return this.#rejections.get(uid);
  }

  /** The rejected pods, in the order of their rejection. */
  rejected(): NodePod[] {
    return [...this.#rejections.keys()].map((uid) => this.#pods.get(uid)!);
  }

  /** Marks a desired pod as rejected, or removes that mark. */
  setRejection(uid: string, rejection: Rejection | undefined): void {
    if (rejection === undefined) this.#rejections.delete(uid);
    else if (this.#pods.has(uid)) this.#rejections.set(uid, rejection);
    this.#changed();
  }

  /**
   * Makes a desired pod wait, or keep waiting, for room that other pods are freeing, or for its gates.
   *
   * It claims that room, and no worker syncs it meanwhile.
   */
  hold(uid: string, wait: Wait): void {
    if (this.#pods.has(uid)) this.#held.set(uid, wait);
  }

  /** What a held pod waits for; undefined for any other pod. */
  findWait(uid: string): Wait | undefined {
    return this.#held.get(uid);
  }

  isHeld(uid: string): boolean {
    return this.#held.has(uid);
  }

  /** The held pods, in the order in which they began to wait. */
  held(): NodePod[] {
    return [...this.#held.keys()].map((uid) => this.#pods.get(uid)!);
  }

  /** Ends the wait of a pod. */
  release(uid: string): void {
    this.#held.delete(uid);
  }

  remove(uid: string): void {
    this.#held.delete(uid);
    this.#pods.delete(uid);
    this.#rejections.delete(uid);
    this.#changed();
  }

  #changed(): void {
    this.#revision++;
    for (const listener of this.#listeners) listener();
  }
}
