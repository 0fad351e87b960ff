/**
 * What becomes of a pod that runs when a field of its manifest is edited: one class for every field there is.
 *
 * - `in place`: it holds from then on, and nothing is stopped for it
 * - `container`: the container is made anew, in the pod that is there
 * - `pod`: the pod is ended and made anew, under the uid that it has
 *
 * What Kubernetes lets change in a pod that runs changes in place, and so does what the agent alone goes by (probes,
 * hooks, policies, periods): no process would see a difference. The rest is what containers are made of.
 *
 * @module
 */
import { type Container, type ResourceRequirements } from '#kube/container/container.js';
import { type ObjectMeta, type PodSpec } from '#kube/pod/pod.js';

/** See the module. */
export type UpdateClass = 'in place' | 'container' | 'pod';

type Classes<Fields> = Readonly<Record<keyof Fields, UpdateClass>>;

/** Fields of metadata. With another name or uid it is another pod, and the one that was there is gone. */
export const METADATA_UPDATES: Classes<ObjectMeta> = {
  name: 'pod',
  namespace: 'pod',
  uid: 'pod',
  labels: 'in place',
  annotations: 'in place',
};

/** Fields of the spec; those of containers are in {@link CONTAINER_UPDATES}, and which ones there are counts, too. */
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
  securityContext: 'pod',
  imagePullSecrets: 'in place',
  hostname: 'pod',
  subdomain: 'pod',
  setHostnameAsFQDN: 'pod',
  hostnameOverride: 'pod',
  hostAliases: 'pod',
  runtimeClassName: 'pod',
  overhead: 'pod',
  enableServiceLinks: 'pod',
  priority: 'pod',
  priorityClassName: 'pod',
  os: 'in place',
  nodeSelector: 'in place',
  affinity: 'in place',
  tolerations: 'in place',
};

/** Fields of containers. */
export const CONTAINER_UPDATES: Classes<Container> = {
  name: 'pod',
  image: 'container',
  command: 'pod',
  args: 'pod',
  workingDir: 'pod',
  // Ports of the node are mapped by the sandbox, and recreate the pod; those of the container are only names for probes.
  ports: 'in place',
  envFrom: 'pod',
  env: 'pod',
  // In place as far as RESOURCE_UPDATES say.
  resources: 'in place',
  resizePolicy: 'in place',
  restartPolicy: 'pod',
  restartPolicyRules: 'in place',
  volumeMounts: 'pod',
  livenessProbe: 'in place',
  readinessProbe: 'in place',
  startupProbe: 'in place',
  // But for stopSignal, which the container is made with, and which recreates the pod.
  lifecycle: 'in place',
  terminationMessagePath: 'pod',
  terminationMessagePolicy: 'in place',
  imagePullPolicy: 'in place',
  securityContext: 'pod',
  stdin: 'pod',
  stdinOnce: 'pod',
  tty: 'pod',
};

/** What of a container's resources changes in place; others recreate the pod, and so does another class of service. */
const RESIZABLE: ReadonlySet<string> = new Set(['cpu', 'memory']);

/** Amounts whose change recreates the pod, in one form however they are written. Pure. */
export function fixedResources({ limits = {}, requests = {} }: ResourceRequirements): string[] {
  const names = new Set([...Object.keys(limits), ...Object.keys(requests)]);
  return [...names]
    .filter((name) => !RESIZABLE.has(name))
    .map((name) => `${name} ${requests[name] ?? limits[name] ?? ''} ${limits[name] ?? ''}`)
    .sort();
}
