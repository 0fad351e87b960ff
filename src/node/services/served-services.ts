import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { HEADLESS } from '#kube/workloads/validate-service.js';
import { type AssignedService, keyOfPort, keyOfService } from './service-addresses.js';
import { type EndpointAddress, portNameOf, type ServiceEndpoints } from './service-endpoints.js';

/** A Service or its endpoints as an API shows them. */
export interface ServedService {
  readonly apiVersion: string;
  readonly kind: 'Service' | 'Endpoints' | 'EndpointSlice';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string;
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Services with what they were given, their Endpoints and their EndpointSlices, as an API server shows them. Pure. */
export function toServedServices(
  endpoints: readonly ServiceEndpoints[],
  assigned: Readonly<Record<string, AssignedService>>,
): ServedService[] {
  return endpoints.flatMap((each) => {
    const given = assigned[keyOfService(each.service)];
    if (given === undefined) return [];
    const isSelecting = Object.keys(each.service.spec.selector ?? {}).length > 0;
    const own = toService(each, given);
    return isSelecting ? [own, toEndpoints(each, given), toSlice(each, given)] : [own];
  });
}

function toService({ service }: ServiceEndpoints, given: AssignedService): ServedService {
  const { metadata, spec } = service;
  const { type = 'ClusterIP', clusterIP, ports = [] } = spec;
  const address = type === 'ExternalName' ? undefined : (given.clusterIp ?? clusterIP ?? HEADLESS);
  const full = {
    ...{ ...spec, type, sessionAffinity: spec.sessionAffinity ?? 'None' },
    ...(address === undefined ? {} : { clusterIP: address, clusterIPs: [address] }),
    ports: ports.map((port) => {
      const nodePort = given.nodePorts[keyOfPort(port)];
      const { protocol = 'TCP', targetPort = port.port, nodePort: _, ...rest } = port;
      return { ...rest, protocol, targetPort, ...(nodePort === undefined ? {} : { nodePort }) };
    }),
  };
  const served: ServedService & { readonly spec: object; readonly status: object } = {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: { ...metadata, uid: given.uid, creationTimestamp: toV1Time(given.createdAtMs) },
    ...{ spec: full, status: { loadBalancer: {} } },
  };
  return served;
}

function toEndpoints({ service, ready, notReady }: ServiceEndpoints, given: AssignedService): ServedService {
  const addressOf = ({ ips, pod, hostname }: EndpointAddress): object => ({
    ip: ips[0],
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: { kind: 'Pod', ...pod },
  });
  // Pods may have different numbers for a port by its name: then each set of numbers is a subset of its own.
  const subsets = new Map<string, { addresses: object[]; notReadyAddresses: object[]; ports: object[] }>();
  for (const [list, all] of [
    ['addresses', ready],
    ['notReadyAddresses', notReady],
  ] as const) {
    for (const each of all) {
      const ports = portsOf(service, each);
      const key = JSON.stringify(ports);
      const subset = subsets.get(key) ?? { addresses: [], notReadyAddresses: [], ports };
      subsets.set(key, subset);
      subset[list].push(addressOf(each));
    }
  }
  const served: ServedService & { readonly subsets: readonly object[] } = {
    ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: metadataOf(service, given) },
    subsets: [...subsets.values()].map((subset) =>
      Object.fromEntries(Object.entries(subset).filter(([, list]) => list.length > 0)),
    ),
  };
  return served;
}

function toSlice({ service, ready, notReady }: ServiceEndpoints, given: AssignedService): ServedService {
  const endpointOf = (isReady: boolean, { ips, pod, hostname }: EndpointAddress): object => ({
    ...{ addresses: ips.slice(0, 1), conditions: { ready: isReady, serving: isReady, terminating: false } },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: { kind: 'Pod', ...pod },
  });
  const [first] = [...ready, ...notReady];
  const { name, labels, ...metadata } = metadataOf(service, given);
  const served: ServedService & Readonly<Record<string, unknown>> = {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
    metadata: { ...metadata, name, labels: { ...labels, 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [
      ...ready.map((each) => endpointOf(true, each)),
      ...notReady.map((each) => endpointOf(false, each)),
    ],
    ports: first === undefined ? [] : portsOf(service, first),
  };
  return served;
}

function metadataOf(
  { metadata: { name, namespace, labels } }: ServiceEndpoints['service'],
  { createdAtMs }: AssignedService,
): ServedService['metadata'] {
  return {
    name,
    namespace,
    creationTimestamp: toV1Time(createdAtMs),
    ...(labels === undefined ? {} : { labels }),
  };
}

function portsOf(
  { spec: { ports = [] } }: ServiceEndpoints['service'],
  { ports: own }: EndpointAddress,
): object[] {
  return ports.flatMap((port) => {
    const number = own.get(portNameOf(port));
    const { name, protocol = 'TCP' } = port;
    return number === undefined ? [] : [{ ...(name === undefined ? {} : { name }), port: number, protocol }];
  });
}
