import { type NodePod } from '#kube/pod/node-pod.js';

/** Why a pod that is wanted does not run here: for its status. */
export interface Rejection {
  /** CamelCase: OutOfcpu, NodePorts … */
  readonly reason: string;
  readonly message: string;
}

/** What a pod waits for before it is begun: for its status and an event. */
export interface Wait {
  readonly message: string;
  /** Of the pods that have what it needs, until they have ended; of one that is held those, too, for which it has waited before. */
  readonly uids: readonly string[];
}

/**
 * The pods that the sources want on this node, by uid: the truth about desire, as the sync loop has taken it in.
 *
 * Written by the sync loop's handlers alone; read by everybody. A pod that was rejected stays desired, and is not
 * worked on.
 */
export class DesiredPods {
  readonly #pods = new Map<string, NodePod>();
  readonly #rejections = new Map<string, Rejection>();
  readonly #held = new Map<string, Wait>();
  #revision = 0;

  /** Another number after each change. */
  get revision(): number {
    return this.#revision;
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

  /** All of them, in the order in which they came first. */
  all(): IterableIterator<NodePod> {
    return this.#pods.values();
  }

  /** A fresh set of the uids of all of them. */
  uids(): Set<string> {
    return new Set(this.#pods.keys());
  }

  /** Takes in a pod, or a newer version of it. */
  set(pod: NodePod): void {
    this.#pods.set(pod.metadata.uid, pod);
    this.#revision++;
  }

  /** Undefined when the pod was admitted, or is not desired. */
  findRejection(uid: string): Rejection | undefined {
    return this.#rejections.get(uid);
  }

  /** Those that were rejected, in the order in which that was. */
  rejected(): NodePod[] {
    return [...this.#rejections.keys()].map((uid) => this.#pods.get(uid)!);
  }

  /** Marks a desired pod as one that is not to run here, or takes that back. */
  setRejection(uid: string, rejection: Rejection | undefined): void {
    this.#revision++;
    if (rejection === undefined) this.#rejections.delete(uid);
    else if (this.#pods.has(uid)) this.#rejections.set(uid, rejection);
  }

  /** Has a desired pod wait for room that others are giving up, or wait on: it claims that room, and is not worked on. */
  hold(uid: string, wait: Wait): void {
    if (this.#pods.has(uid)) this.#held.set(uid, wait);
  }

  /** What a pod waits for that is held so; undefined for any other. */
  findWait(uid: string): Wait | undefined {
    return this.#held.get(uid);
  }

  isHeld(uid: string): boolean {
    return this.#held.has(uid);
  }

  /** Those that wait so, in the order in which that began. */
  held(): NodePod[] {
    return [...this.#held.keys()].map((uid) => this.#pods.get(uid)!);
  }

  /** It waits no more. */
  release(uid: string): void {
    this.#held.delete(uid);
  }

  remove(uid: string): void {
    this.#held.delete(uid);
    this.#revision++;
    this.#pods.delete(uid);
    this.#rejections.delete(uid);
  }
}
