import { type NodeFacts } from '../../../src/node/runtime/config/node-facts.js';
import { type Container } from '#kube/container/container.js';
import { type NodePod, type NodePodMeta } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';

/** A container `app`, as it is with defaults. */
export function aSpecContainer(fields: Partial<Container> = {}): Container {
  return {
    name: 'app',
    image: 'registry.example/app:1',
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...fields,
  };
}

/** A pod `default/web` of this node with one container `app`. */
export function aSpecPod(spec: Partial<PodSpec> = {}, metadata: Partial<NodePodMeta> = {}): NodePod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'u1', ...metadata },
    spec: {
      containers: [aSpecContainer()],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      ...spec,
    },
  };
}

/** A node of 8 GiB without a cluster. */
export function someNodeFacts(fields: Partial<NodeFacts> = {}): NodeFacts {
  return {
    nodeInstance: 'me',
    hostname: 'node-1',
    resolver: { servers: ['192.0.2.53'], searches: [], options: [] },
    isInCluster: false,
    clusterDns: [],
    clusterDomain: '',
    memoryCapacityBytes: 8n * 1024n ** 3n,
    pageSizeBytes: 4_096,
    cpuCfsQuota: true,
    cpuCfsPeriodUs: 100_000,
    seccompDir: '/profiles',
    seccompDefault: false,
    maskedPaths: [],
    strictGroups: true,
    canMount: true,
    ...fields,
  };
}
