/**
 * What happens to a running pod when a field of its manifest is edited: one class for every field.
 *
 * - `in place`: applies from now on, and nothing stops
 * - `container`: the container is recreated in the present pod
 * - `pod`: the pod is ended and recreated under the same uid
 *
 * Fields that Kubernetes lets change in a running pod change in place. So do those that only the agent uses
 * (probes, hooks, policies, periods), as no process would see a difference. All others are baked into the
 * containers.
 *
 * @module
 */
import { type Container, type ResourceRequirements } from '#kube/container/container.js';
import { type ObjectMeta, type PodSpec } from '#kube/pod/pod.js';

/** See the module. */
export type UpdateClass = 'in place' | 'container' | 'pod';

type Classes<Fields> = Readonly<Record<keyof Fields, UpdateClass>>;

/** Fields of metadata. Another name or uid makes it another pod, and the old one is gone. */
export const METADATA_UPDATES: Classes<ObjectMeta> = {
  name: 'pod',
  namespace: 'pod',
  uid: 'pod',
  labels: 'in place',
  annotations: 'in place',
};

/**
 * Fields of the spec. Those of containers are in {@link CONTAINER_UPDATES}; which containers exist counts,
 * too.
 */
export const SPEC_UPDATES: Classes<PodSpec> = {
  volumes: 'pod',
  initContainers: 'pod',
  containers: 'pod',
  ephemeralContainers: 'in place',
  restartPolicy: 'in place',
  terminationGracePeriodSeconds: 'in place',
  activeDeadlineSeconds: 'in place',
  dnsPolicy: 'pod',
  dnsConfig: 'pod',
  nodeName: 'in place',
  serviceAccountName: 'pod',
  hostNetwork: 'pod',
  hostPID: 'pod',
  hostIPC: 'pod',
  shareProcessNamespace: 'pod',
  hostUsers: 'pod',
  securityContext: 'pod',
  imagePullSecrets: 'in place',
  hostname: 'pod',
  subdomain: 'pod',
  setHostnameAsFQDN: 'pod',
  hostnameOverride: 'pod',
  hostAliases: 'pod',
  runtimeClassName: 'pod',
  resources: 'pod',
  overhead: 'pod',
  enableServiceLinks: 'pod',
  priority: 'pod',
  priorityClassName: 'pod',
  os: 'in place',
  nodeSelector: 'in place',
  affinity: 'in place',
  tolerations: 'in place',
  // A pod that has begun is past them.
  schedulingGates: 'in place',
};

/** Fields of containers. */
export const CONTAINER_UPDATES: Classes<Container> = {
  name: 'pod',
  image: 'container',
  command: 'pod',
  args: 'pod',
  workingDir: 'pod',
  // Host ports are mapped by the sandbox and recreate the pod; container ports are only names for probes.
  ports: 'in place',
  envFrom: 'pod',
  env: 'pod',
  // In place as far as RESOURCE_UPDATES allows.
  resources: 'in place',
  resizePolicy: 'in place',
  restartPolicy: 'pod',
  restartPolicyRules: 'in place',
  volumeMounts: 'pod',
  livenessProbe: 'in place',
  readinessProbe: 'in place',
  startupProbe: 'in place',
  // Except stopSignal: the container is created with it, so it recreates the pod.
  lifecycle: 'in place',
  terminationMessagePath: 'pod',
  terminationMessagePolicy: 'in place',
  imagePullPolicy: 'in place',
  securityContext: 'pod',
  stdin: 'pod',
  stdinOnce: 'pod',
  tty: 'pod',
};

/**
 * Resources of a container that change in place; any other recreates the pod, and so does another QoS class.
 */
const RESIZABLE: ReadonlySet<string> = new Set(['cpu', 'memory']);

/** Amounts whose change recreates the pod, normalized. Pure. */
export function fixedResources({ limits = {}, requests = {} }: ResourceRequirements): string[] {
  const names = new Set([...Object.keys(limits), ...Object.keys(requests)]);
  return [...names]
    .filter((name) => !RESIZABLE.has(name))
    .map((name) => `${name} ${requests[name] ?? limits[name] ?? ''} ${limits[name] ?? ''}`)
    .sort();
}
