import { isIP } from 'node:net';
import { Protocol, type PortMapping } from '#watch/messages';
import { invalidArgument, refused, unimplemented } from '../../rpc-error.js';
import { type AttachmentRecord, type HostPort } from '../links/attachment-record.js';

/** The mappings that ask for a port of the host; throws when one cannot be. */
export function toHostPorts(mappings: readonly PortMapping[]): readonly HostPort[] {
  const ports = mappings.filter(({ hostPort }) => hostPort !== 0).map(toHostPort);
  for (const [index, port] of ports.entries()) {
    if (ports.slice(0, index).some((other) => collide(port, other)))
      throw invalidArgument(`port_mappings ask twice for host port ${describeHostPort(port)}`);
  }
  return ports;
}

/** Throws when another sandbox has one of the ports. */
export function refuseTakenPorts(ports: readonly HostPort[], attachments: readonly AttachmentRecord[]): void {
  for (const port of ports) {
    const owner = attachments.find(({ hostPorts }) => hostPorts.some((other) => collide(port, other)));
    if (owner !== undefined)
      throw refused(`host port ${describeHostPort(port)} is taken by sandbox ${owner.sandboxId}`);
  }
}

/** As people write it: `10.0.0.1:8080/tcp`. */
function describeHostPort({ protocol, hostIp, hostPort }: HostPort): string {
  const host = hostIp.includes(':') ? `[${hostIp}]` : hostIp;
  return `${host === '' ? '' : `${host}:`}${hostPort}/${protocol}`;
}

/** Whether the host's address stands for all of them. */
export function isEveryAddress(hostIp: string): boolean {
  return hostIp === '' || hostIp === '0.0.0.0' || hostIp === '::';
}

function toHostPort({ protocol, hostIp, hostPort, containerPort }: PortMapping): HostPort {
  if (protocol !== Protocol.TCP && protocol !== Protocol.UDP)
    throw unimplemented(`host port ${hostPort}: the embedded runtime forwards TCP and UDP only`);
  for (const port of [hostPort, containerPort]) {
    if (port < 1 || port > 65_535) throw invalidArgument(`port_mappings name the port ${port}`);
  }
  if (hostIp !== '' && isIP(hostIp) === 0) throw invalidArgument(`host_ip "${hostIp}" is no IP address`);
  return { protocol: protocol === Protocol.TCP ? 'tcp' : 'udp', hostIp, hostPort, containerPort };
}

function collide(a: HostPort, b: HostPort): boolean {
  const samePort = a.protocol === b.protocol && a.hostPort === b.hostPort;
  return samePort && (a.hostIp === b.hostIp || isEveryAddress(a.hostIp) || isEveryAddress(b.hostIp));
}
