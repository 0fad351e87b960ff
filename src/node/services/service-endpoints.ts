/**
 * Which pods a Service leads to, as of now.
 *
 * In: Services of manifests, the wanted pods with their statuses. Out: addresses and ports. Pure.
 *
 * Source: https://kubernetes.io/docs/concepts/services-networking/service/
 *
 * @module
 */
import { sidecarsOf } from '#kube/container/restart-rule.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { isTerminalPhase, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Service, type ServicePort, type ServiceSpec } from '#kube/workloads/workload.js';

/** A pod as far as Services see it. */
export interface EndpointPod {
  readonly pod: NodePod;
  readonly status: V1PodStatus | undefined;
}

/** An address behind a Service. */
export interface EndpointAddress {
  /** IPv4 first. */
  readonly ips: readonly string[];
  readonly pod: Pick<NodePod['metadata'], 'uid' | 'namespace' | 'name'>;
  /** The name below that of the Service: of a pod with a `hostname` and this Service as its `subdomain`. */
  readonly hostname: string | undefined;
  /** By the names of the Service's ports: where each leads in this pod. */
  readonly ports: ReadonlyMap<string, number>;
}

/** What a Service leads to. */
export interface ServiceEndpoints {
  readonly service: Service;
  /** By the names of pods. */
  readonly ready: readonly EndpointAddress[];
  /** They have addresses and are not ready. */
  readonly notReady: readonly EndpointAddress[];
}

/** The endpoints of each Service; of one without a selector there are none. */
export function computeServiceEndpoints(
  services: readonly Service[],
  pods: readonly EndpointPod[],
): ServiceEndpoints[] {
  const byNamespace = new Map<string, EndpointPod[]>();
  for (const each of pods) {
    const { namespace } = each.pod.metadata;
    const list = byNamespace.get(namespace) ?? [];
    byNamespace.set(namespace, list);
    list.push(each);
  }
  return services.map((service) => {
    const ready: EndpointAddress[] = [];
    const notReady: EndpointAddress[] = [];
    for (const each of byNamespace.get(service.metadata.namespace) ?? []) {
      const address = isSelected(service.spec, each.pod) ? toAddress(service, each) : undefined;
      if (address === undefined) continue;
      (service.spec.publishNotReadyAddresses === true || isReady(each) ? ready : notReady).push(address);
    }
    for (const list of [ready, notReady]) list.sort((one, other) => (one.pod.name < other.pod.name ? -1 : 1));
    return { service, ready, notReady };
  });
}

/** The name by which a port of a Service is known here: its name, which is empty for a single one. */
export function portNameOf({ name = '' }: ServicePort): string {
  return name;
}

function isSelected({ selector = {}, type }: ServiceSpec, { metadata }: NodePod): boolean {
  const wanted = Object.entries(selector);
  if (wanted.length === 0 || type === 'ExternalName') return false;
  const { labels = {} } = metadata;
  return wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

function isReady({ pod, status }: EndpointPod): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  return status?.conditions.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}

/** Undefined for a pod without an address, and for one that has ended. */
function toAddress({ metadata, spec }: Service, { pod, status }: EndpointPod): EndpointAddress | undefined {
  if (status === undefined || isTerminalPhase(status.phase)) return undefined;
  const { podIP, podIPs = podIP === undefined ? [] : [{ ip: podIP }] } = status;
  if (podIPs.length === 0) return undefined;
  const ips = podIPs
    .map(({ ip }) => ip)
    .sort((one, other) => Number(one.includes(':')) - Number(other.includes(':')));
  const { uid, namespace, name } = pod.metadata;
  const ports = new Map<string, number>();
  for (const port of spec.ports ?? []) {
    const target = findTargetPort(port, pod);
    if (target !== undefined) ports.set(portNameOf(port), target);
  }
  const { hostname, subdomain } = pod.spec;
  return {
    ...{ ips, pod: { uid, namespace, name }, ports },
    hostname: subdomain === metadata.name ? hostname : undefined,
  };
}

/** Undefined when no container of the pod has a port of that name. */
function findTargetPort(
  { port, targetPort, protocol = 'TCP' }: ServicePort,
  { spec }: NodePod,
): number | undefined {
  if (targetPort === undefined || targetPort === 0 || targetPort === '') return port;
  if (typeof targetPort === 'number') return targetPort;
  for (const { ports = [] } of [...spec.containers, ...sidecarsOf(spec)]) {
    const found = ports.find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}
