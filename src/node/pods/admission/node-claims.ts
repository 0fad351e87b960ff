import { type NodePod } from '#kube/pod/node-pod.js';
import { computeOtherRequests, computePodRequests, type PodRequests } from '#kube/pod/pod-requests.js';
import { type HostPort, hostPortsOf, TakenHostPorts } from './host-ports.js';

interface Claim {
  readonly requests: PodRequests;
  readonly others: ReadonlyMap<string, bigint>;
  readonly ports: readonly HostPort[];
}

/** The total claims of some pods on their node; adding or removing one does not visit the others. */
export class NodeClaims {
  readonly #byUid = new Map<string, Claim>();
  readonly #ports = new TakenHostPorts();
  #cpuMilli = 0n;
  #memoryBytes = 0n;
  readonly #others = new Map<string, bigint>();

  /** The number of pods. */
  get pods(): number {
    return this.#byUid.size;
  }

  /** The sum of all requests. */
  get requests(): PodRequests {
    return { cpuMilli: this.#cpuMilli, memoryBytes: this.#memoryBytes };
  }

  /** The sum of the requests for a resource other than cpu and memory, in bytes or pieces. */
  requested(name: string): bigint {
    return this.#others.get(name) ?? 0n;
  }

  /** In the order in which they came. */
  uids(): IterableIterator<string> {
    return this.#byUid.keys();
  }

  /** Whether one of the pods has a port that excludes that port. */
  collides(port: HostPort): boolean {
    return this.#ports.collides(port);
  }

  /** Adds a pod, or replaces it by a newer version. */
  add(pod: NodePod): void {
    const { uid } = pod.metadata;
    this.remove(uid);
    const claim: Claim = {
      ...{ requests: computePodRequests(pod.spec), others: computeOtherRequests(pod.spec) },
      ports: hostPortsOf(pod),
    };
    this.#byUid.set(uid, claim);
    this.#cpuMilli += claim.requests.cpuMilli;
    this.#memoryBytes += claim.requests.memoryBytes;
    for (const [name, amount] of claim.others) this.#others.set(name, this.requested(name) + amount);
    for (const port of claim.ports) this.#ports.add(port);
  }

  /** Does nothing for a pod that claims nothing. */
  remove(uid: string): void {
    const claim = this.#byUid.get(uid);
    if (claim === undefined) return;
    this.#byUid.delete(uid);
    this.#cpuMilli -= claim.requests.cpuMilli;
    this.#memoryBytes -= claim.requests.memoryBytes;
    for (const [name, amount] of claim.others) {
      const left = this.requested(name) - amount;
      if (left > 0n) this.#others.set(name, left);
      else this.#others.delete(name);
    }
    for (const port of claim.ports) this.#ports.remove(port);
  }
}
