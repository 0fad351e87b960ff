import { type PodObjects } from '#kube/objects/config-object.js';
import { resolveEnvironment } from '../../../src/node/runtime/config/resolve-environment.js';
import { type ContainerEnvironments } from '../../../src/node/pods/sync/sync-pod-ports.js';

/** Where no pod finds an object. */
export const NO_OBJECTS: PodObjects = { findConfigMap: () => undefined, findSecret: () => undefined };

/** The environments of containers on a node `node-1` of two cores, with these objects. */
export function someEnvironments(objects: PodObjects = NO_OBJECTS): ContainerEnvironments {
  const node = { hostIps: ['192.0.2.1'], nodeName: 'node-1', serviceAccountName: 'default' };
  const allocatable = { cpuMilli: 2_000n, memoryBytes: 8n * 1024n ** 3n };
  return {
    resolve: async (pod, container, podIps) =>
      resolveEnvironment(pod, container, { objects, facts: { ...node, podIps, allocatable } }),
  };
}
