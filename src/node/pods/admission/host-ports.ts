import { type ContainerPort } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { sidecarsOf } from '#kube/container/restart-rule.js';

/** A host port that a pod takes, at one address or at all. */
export interface HostPort {
  readonly port: number;
  readonly protocol: string;
  /** As written; '', 0.0.0.0 and :: are all addresses. */
  readonly address: string;
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['', '0.0.0.0', '::']);

/** The ports of regular containers and sidecars: init containers are over when others start. Pure. */
export function hostPortsOf({ spec }: NodePod): HostPort[] {
  return [...spec.containers, ...sidecarsOf(spec)].flatMap(({ ports = [] }) =>
    ports.flatMap((port) => toHostPort(port, spec.hostNetwork === true)),
  );
}

/** Taken host ports, with a check for collisions whose cost does not grow with their number. */
export class TakenHostPorts {
  /** How many ports each address has, by number and protocol; '' for every address. */
  readonly #addresses = new Map<string, Map<string, number>>();

  constructor(ports: Iterable<HostPort> = []) {
    for (const port of ports) this.add(port);
  }

  /** Whether a taken port excludes that port. */
  collides(port: HostPort): boolean {
    const taken = this.#addresses.get(keyOf(port));
    if (taken === undefined) return false;
    const address = addressOf(port);
    return address === '' || taken.has('') || taken.has(address);
  }

  /** Adds a port, which may be taken several times: it is free after as many removals. */
  add(port: HostPort): void {
    const key = keyOf(port);
    const taken = this.#addresses.get(key) ?? new Map<string, number>();
    const address = addressOf(port);
    taken.set(address, (taken.get(address) ?? 0) + 1);
    this.#addresses.set(key, taken);
  }

  /** Removes a port that was added. */
  remove(port: HostPort): void {
    const key = keyOf(port);
    const taken = this.#addresses.get(key);
    if (taken === undefined) return;
    const address = addressOf(port);
    const left = (taken.get(address) ?? 0) - 1;
    if (left > 0) taken.set(address, left);
    else taken.delete(address);
    if (taken.size === 0) this.#addresses.delete(key);
  }
}

function keyOf({ port, protocol }: HostPort): string {
  return `${port}/${protocol}`;
}

function addressOf({ address }: HostPort): string {
  return EVERY_ADDRESS.has(address) ? '' : address;
}

function toHostPort(port: ContainerPort, hostNetwork: boolean): HostPort[] {
  // On the host network, the container's own port is the host's.
  const number = port.hostPort ?? (hostNetwork ? port.containerPort : 0);
  if (number === 0) return [];
  return [{ port: number, protocol: port.protocol ?? 'TCP', address: port.hostIP ?? '' }];
}
