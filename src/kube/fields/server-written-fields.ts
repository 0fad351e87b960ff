import { decodeObject } from './decode-object.js';
import { type FieldTable, supported } from './field-facts.js';
import { type FieldProblem } from './field-problem.js';
import { isRecord } from '#base/text/is-record.js';

/** Builds a table from `name: type` words. */
function fields(types: Readonly<Record<string, string>>): FieldTable {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [name, supported(type)]));
}

function needed(...names: string[]): FieldTable {
  return Object.fromEntries(names.map((name) => [name, supported('string', { required: true })]));
}

/** The fields in Kubernetes 1.37 that only servers and controllers write. Times are text here. */
const TABLES: Readonly<Record<string, FieldTable>> = {
  Pod: fields({ metadata: 'ObjectMeta', status: 'PodStatus' }),
  ObjectMeta: fields({ ownerReferences: '[]OwnerReference', managedFields: '[]ManagedFieldsEntry' }),
  OwnerReference: {
    ...needed('apiVersion', 'kind', 'name', 'uid'),
    ...fields({ controller: 'boolean', blockOwnerDeletion: 'boolean' }),
  },
  ManagedFieldsEntry: {
    operation: supported('Apply|Update', { required: true }),
    fieldsType: supported('|FieldsV1'),
    ...fields({ manager: 'string', apiVersion: 'string', time: 'string' }),
    ...fields({ fieldsV1: 'any', subresource: 'string' }),
  },
  PodStatus: fields({
    ...{ observedGeneration: 'int64', phase: 'string', conditions: '[]PodCondition' },
    ...{ message: 'string', reason: 'string', nominatedNodeName: 'string', qosClass: 'string' },
    ...{ hostIP: 'string', hostIPs: '[]PodIP', podIP: 'string', podIPs: '[]PodIP', startTime: 'string' },
    ...{ initContainerStatuses: '[]ContainerStatus', containerStatuses: '[]ContainerStatus' },
    ...{ ephemeralContainerStatuses: '[]ContainerStatus', resize: 'string' },
    ...{ resourceClaimStatuses: '[]PodResourceClaimStatus', extendedResourceClaimStatus: 'any' },
    ...{ allocatedResources: 'map[string]quantity', resources: 'StatusResources' },
    ...{ nodeAllocatableResourceClaimStatuses: '[]any', volumeHealth: '[]any' },
  }),
  PodCondition: fields({
    ...{ type: 'string', observedGeneration: 'int64', status: 'string', lastProbeTime: 'string' },
    ...{ lastTransitionTime: 'string', reason: 'string', message: 'string' },
  }),
  PodIP: fields({ ip: 'string' }),
  ContainerStatus: fields({
    ...{ name: 'string', state: 'ContainerState', lastState: 'ContainerState', ready: 'boolean' },
    ...{ restartCount: 'int32', image: 'string', imageID: 'string', containerID: 'string' },
    ...{ started: 'boolean', allocatedResources: 'map[string]quantity', resources: 'StatusResources' },
    ...{ volumeMounts: '[]VolumeMountStatus', user: 'ContainerUser', stopSignal: 'string' },
    ...{ allocatedResourcesStatus: '[]any' },
  }),
  ContainerState: fields({
    ...{ waiting: 'ContainerStateWaiting', running: 'ContainerStateRunning' },
    ...{ terminated: 'ContainerStateTerminated' },
  }),
  ContainerStateWaiting: fields({ reason: 'string', message: 'string' }),
  ContainerStateRunning: fields({ startedAt: 'string' }),
  ContainerStateTerminated: fields({
    ...{ exitCode: 'int32', signal: 'int32', reason: 'string', message: 'string' },
    ...{ startedAt: 'string', finishedAt: 'string', containerID: 'string' },
  }),
  VolumeMountStatus: fields({
    ...{ name: 'string', mountPath: 'string', readOnly: 'boolean' },
    ...{ recursiveReadOnly: 'string', volumeStatus: 'any' },
  }),
  ContainerUser: fields({ linux: 'LinuxContainerUser' }),
  LinuxContainerUser: fields({ uid: 'int64', gid: 'int64', supplementalGroups: '[]int64' }),
  PodResourceClaimStatus: fields({ name: 'string', resourceClaimName: 'string' }),
  StatusResources: fields({
    ...{ limits: 'map[string]quantity', requests: 'map[string]quantity', claims: '[]any' },
  }),
};

/**
 * Finds problems in the status, the owners and the managed fields of a pod. Pure.
 *
 * They have no effect here, but an API server that gets the manifest rejects it for them all the same.
 */
export function findWrongServerFields(pod: unknown): FieldProblem[] {
  if (!isRecord(pod)) return [];
  const { metadata, status } = pod;
  const own = isRecord(metadata)
    ? { ownerReferences: metadata['ownerReferences'], managedFields: metadata['managedFields'] }
    : {};
  return [...decodeObject({ metadata: own, status }, 'Pod', TABLES, () => true).problems];
}
