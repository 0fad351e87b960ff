import { type NodePod } from '../model/node-pod.js';
import { computePodRequests, type PodRequests } from '../model/pod-requests.js';
import { collideHostPorts, type HostPort, hostPortsOf } from './host-ports.js';

interface Claim {
  readonly requests: PodRequests;
  readonly ports: readonly HostPort[];
}

/** What some pods claim of their node together; one more or less costs no look at the others. */
export class NodeClaims {
  readonly #byUid = new Map<string, Claim>();
  readonly #portsByNumber = new Map<number, Set<HostPort>>();
  #cpuMilli = 0n;
  #memoryBytes = 0n;

  /** How many pods they are. */
  get pods(): number {
    return this.#byUid.size;
  }

  /** The sum of all. */
  get requests(): PodRequests {
    return { cpuMilli: this.#cpuMilli, memoryBytes: this.#memoryBytes };
  }

  /** In the order in which they came. */
  uids(): IterableIterator<string> {
    return this.#byUid.keys();
  }

  /** Whether one of the pods has a port that another pod could not have besides. */
  collides(port: HostPort): boolean {
    for (const taken of this.#portsByNumber.get(port.port) ?? []) {
      if (collideHostPorts(port, taken)) return true;
    }
    return false;
  }

  /** Takes in a pod, or a newer version of it. */
  add(pod: NodePod): void {
    const { uid } = pod.metadata;
    this.remove(uid);
    const claim = { requests: computePodRequests(pod.spec), ports: hostPortsOf(pod) };
    this.#byUid.set(uid, claim);
    this.#cpuMilli += claim.requests.cpuMilli;
    this.#memoryBytes += claim.requests.memoryBytes;
    for (const port of claim.ports) {
      const others = this.#portsByNumber.get(port.port);
      if (others === undefined) this.#portsByNumber.set(port.port, new Set([port]));
      else others.add(port);
    }
  }

  /** Does nothing for a pod that claims nothing. */
  remove(uid: string): void {
    const claim = this.#byUid.get(uid);
    if (claim === undefined) return;
    this.#byUid.delete(uid);
    this.#cpuMilli -= claim.requests.cpuMilli;
    this.#memoryBytes -= claim.requests.memoryBytes;
    for (const port of claim.ports) {
      const others = this.#portsByNumber.get(port.port);
      others?.delete(port);
      if (others?.size === 0) this.#portsByNumber.delete(port.port);
    }
  }
}
