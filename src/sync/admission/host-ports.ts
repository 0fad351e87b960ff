import { type ContainerPort } from '../../model/container.js';
import { type NodePod } from '../../model/node-pod.js';

/** A port of the node that a pod takes, at one address or at all. */
export interface HostPort {
  readonly port: number;
  readonly protocol: string;
  /** As written; '', 0.0.0.0 and :: are all addresses. */
  readonly address: string;
}

const EVERY_ADDRESS = ['', '0.0.0.0', '::'];

/** Those of regular containers and sidecars: init containers are over when others start. Pure. */
export function hostPortsOf({ spec }: NodePod): HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always');
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap((port) => toHostPort(port, spec.hostNetwork === true)),
  );
}

/** Whether two pods cannot have these at once. Pure. */
export function collideHostPorts(one: HostPort, other: HostPort): boolean {
  const isEvery = ({ address }: HostPort): boolean => EVERY_ADDRESS.includes(address);
  const sameAddress = isEvery(one) || isEvery(other) || one.address === other.address;
  return one.port === other.port && one.protocol === other.protocol && sameAddress;
}

function toHostPort(port: ContainerPort, hostNetwork: boolean): HostPort[] {
  // On the host's network the container's own port is the host's.
  const number = port.hostPort ?? (hostNetwork ? port.containerPort : 0);
  if (number === 0) return [];
  return [{ port: number, protocol: port.protocol ?? 'TCP', address: port.hostIP ?? '' }];
}
