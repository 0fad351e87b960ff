/** What to do with a kustomization. */
export const KUSTOMIZE = 'render it first: kubectl kustomize DIR | podloop validate -, or > pods.yaml';

const JOIN = 'or join a cluster with --kubeconfig';

/** Cluster objects that people put beside their pods, and what to do instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  PersistentVolume: 'remove it: a claim gets a folder of its own; mount an existing one with hostPath',
  StorageClass: 'remove it: every claim gets a folder of this node',
  Ingress: `give its Service a nodePort, or run a proxy in a pod with a hostPort, ${JOIN}`,
  NetworkPolicy: `filter with the firewall of this machine, ${JOIN}`,
  Endpoints: `give the Service a selector, or use type ExternalName, ${JOIN}`,
  EndpointSlice: `give the Service a selector, or use type ExternalName, ${JOIN}`,
  CustomResourceDefinition: `remove it: nothing here reads its objects, ${JOIN}`,
  Role: 'remove it: there is no API server to enforce it',
  RoleBinding: 'remove it: there is no API server to enforce it',
  ClusterRole: 'remove it: there is no API server to enforce it',
  ClusterRoleBinding: 'remove it: there is no API server to enforce it',
  HorizontalPodAutoscaler: `write the replicas into the Deployment, ${JOIN}`,
  PodDisruptionBudget: `remove it, as pods of manifests are not evicted through an API server, ${JOIN}`,
  ResourceQuota: `remove it, ${JOIN}`,
  LimitRange: `write limits into the pods, ${JOIN}`,
  PodTemplate: 'write it as the template of a Deployment, or as a Pod',
  Kustomization: KUSTOMIZE,
  Component: KUSTOMIZE,
  KubeletConfiguration: 'give it to the agent with --config',
};

/** The kinds of which {@link insteadOfKind} knows something. */
export const FOREIGN_KINDS: readonly string[] = Object.keys(INSTEAD);

/** What to do instead of an object of a kind that only a cluster has; undefined for others. */
export function insteadOfKind(kind: string): string | undefined {
  return Object.hasOwn(INSTEAD, kind) ? INSTEAD[kind] : undefined;
}
