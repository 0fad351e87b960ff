/**
 * The supported resources, for programs that ask first, as kubectl does.
 *
 * Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 *
 * @module
 */

interface Resource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

const STREAM_VERBS = ['create', 'get'];

const RESOURCES: readonly Resource[] = [
  {
    ...{ name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod' },
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    ...{ shortNames: ['po'], categories: ['all'] },
  },
  { name: 'pods/log', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get'] },
  { name: 'pods/exec', singularName: '', namespaced: true, kind: 'PodExecOptions', verbs: STREAM_VERBS },
  { name: 'pods/attach', singularName: '', namespaced: true, kind: 'PodAttachOptions', verbs: STREAM_VERBS },
  {
    ...{ name: 'pods/portforward', singularName: '', namespaced: true },
    ...{ kind: 'PodPortForwardOptions', verbs: STREAM_VERBS },
  },
  {
    ...{ name: 'configmaps', singularName: 'configmap', namespaced: true, kind: 'ConfigMap' },
    ...{ verbs: ['create', 'delete', 'get', 'list', 'patch', 'update'], shortNames: ['cm'] },
  },
  {
    ...{ name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret' },
    verbs: ['create', 'delete', 'update'],
  },
  {
    ...{ name: 'events', singularName: 'event', namespaced: true, kind: 'Event' },
    ...{ verbs: ['get', 'list'], shortNames: ['ev'] },
  },
  {
    ...{ name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node' },
    ...{ verbs: ['get', 'list'], shortNames: ['no'] },
  },
];

/** The answers, by path. */
export const DISCOVERY: Readonly<Record<string, object>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: RESOURCES },
};
