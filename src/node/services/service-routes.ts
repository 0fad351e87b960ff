import { isIPv4 } from 'node:net';
import { type AssignedService, keyOfPort, keyOfService } from './service-addresses.js';
import { portNameOf, type ServiceEndpoints } from './service-endpoints.js';

/** Where a connection goes to. */
export interface RouteTarget {
  readonly address: string;
  readonly port: number;
}

/** One port of a Service and what is behind it. */
export interface ServiceRoute {
  /** `default/web TCP 80`: for names of rules and for messages. */
  readonly name: string;
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
  readonly nodePort: number | undefined;
  /** Connections of one client go to the same target as long as the targets stay the same. */
  readonly byClient: boolean;
  /** Without any, connections are refused. */
  readonly targets: readonly RouteTarget[];
}

/** The routes of all Services with an address, in a stable order. Pure. */
export function toServiceRoutes(
  endpoints: readonly ServiceEndpoints[],
  assigned: Readonly<Record<string, AssignedService>>,
): ServiceRoute[] {
  return endpoints
    .flatMap(({ service, ready }) => {
      const key = keyOfService(service);
      const { clusterIp, nodePorts = {} } = assigned[key] ?? {};
      if (clusterIp === undefined) return [];
      return (service.spec.ports ?? []).map((port): ServiceRoute => {
        const { protocol = 'TCP' } = port;
        const targets = ready.flatMap(({ ips, ports }): RouteTarget[] => {
          const address = ips.find((ip) => isIPv4(ip));
          const target = ports.get(portNameOf(port));
          return address === undefined || target === undefined ? [] : [{ address, port: target }];
        });
        return {
          ...{ name: `${key} ${keyOfPort(port)}`, protocol: protocol === 'TCP' ? 'tcp' : 'udp' },
          ...{ address: clusterIp, port: port.port, nodePort: nodePorts[keyOfPort(port)], targets },
          byClient: service.spec.sessionAffinity === 'ClientIP',
        };
      });
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
