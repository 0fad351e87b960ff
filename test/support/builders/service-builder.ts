import { type Service, type ServiceSpec } from '#kube/workloads/workload.js';
import { type EndpointPod } from '../../../src/node/services/service-endpoints.js';
import { aNodePod, type NodePodBlueprint } from './node-pod-builder.js';
import { aRunningStatus } from './a-running-status.js';

/** The Service `default/NAME` of the pods with the label `app=NAME`, with the port 80. */
export function aService(name: string, spec: Partial<ServiceSpec> = {}): Service {
  return {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' } },
    spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
  };
}

/** A pod of such a Service with that address; ready unless said otherwise. */
export function anEndpointPod(
  app: string,
  ip: string,
  { isReady = true, ...blueprint }: NodePodBlueprint & { readonly isReady?: boolean } = {},
): EndpointPod {
  const status = aRunningStatus();
  const conditions = status.conditions.map((each) =>
    each.type === 'Ready' ? { ...each, status: isReady ? ('True' as const) : ('False' as const) } : each,
  );
  return {
    pod: aNodePod({ labels: { app }, ...blueprint }),
    status: { ...status, conditions, podIP: ip, podIPs: [{ ip }], qosClass: 'BestEffort' },
  };
}
