/**
 * Whether a manifest has changed so that a container, or the whole pod, has to be recreated.
 *
 * The hash covers fields that are written, supported, and mean more than leaving them out, as far as they are
 * fixed when a container or sandbox is created. A field that podloop starts to support later was refused or
 * ignored before, so a new version computes the same hash and restarts nothing. The order of keys does not
 * matter; that of lists does.
 *
 * Present versions write {@link podHash} and the image, and compare these. Older versions wrote only {@link
 * sandboxHash} and {@link containerHash}. Those stay unchanged, so that nothing of an older version restarts,
 * and an edit recreates what it recreated then.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { type Container } from '#kube/container/container.js';
import { saysNothing } from '#kube/fields/decode-object.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type FieldType } from '#kube/fields/field-facts.js';
import { type Pod, type PodSpec } from '#kube/pod/pod.js';
import { POD_TABLES } from '#kube/pod/pod-fields.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { CONTAINER_UPDATES, fixedResources, SPEC_UPDATES } from '../loop/update-class.js';

/** What a changed field requires: a new container, a new sandbox, or nothing. */
type ChangeNeeds = 'container' | 'sandbox' | 'nothing';

/** A new field has to be classified here when podloop starts to support it. */
const CONTAINER_FIELDS: Readonly<Record<keyof Container, ChangeNeeds>> = {
  name: 'container',
  image: 'container',
  command: 'container',
  args: 'container',
  workingDir: 'container',
  // Only host ports are mapped, and by the sandbox.
  ports: 'sandbox',
  envFrom: 'container',
  env: 'container',
  resources: 'container',
  resizePolicy: 'nothing',
  restartPolicy: 'nothing',
  restartPolicyRules: 'nothing',
  volumeMounts: 'container',
  livenessProbe: 'nothing',
  readinessProbe: 'nothing',
  startupProbe: 'nothing',
  // Except stopSignal, which the container is created with: see below.
  lifecycle: 'nothing',
  terminationMessagePath: 'container',
  terminationMessagePolicy: 'nothing',
  imagePullPolicy: 'nothing',
  securityContext: 'container',
  stdin: 'container',
  stdinOnce: 'container',
  tty: 'container',
};

const SPEC_FIELDS: Readonly<Record<keyof PodSpec, ChangeNeeds>> = {
  // Those that a container mounts.
  volumes: 'container',
  initContainers: 'nothing',
  containers: 'nothing',
  ephemeralContainers: 'nothing',
  restartPolicy: 'nothing',
  terminationGracePeriodSeconds: 'nothing',
  activeDeadlineSeconds: 'nothing',
  dnsPolicy: 'sandbox',
  dnsConfig: 'sandbox',
  nodeName: 'nothing',
  // An API server does not let these change.
  serviceAccountName: 'nothing',
  // What counts is its class: see below.
  resources: 'nothing',
  overhead: 'nothing',
  enableServiceLinks: 'nothing',
  // Replaced by the host ports, which mean nothing on the host network: see below.
  hostNetwork: 'nothing',
  hostPID: 'sandbox',
  hostIPC: 'sandbox',
  shareProcessNamespace: 'sandbox',
  hostUsers: 'sandbox',
  securityContext: 'sandbox',
  imagePullSecrets: 'nothing',
  hostname: 'sandbox',
  subdomain: 'sandbox',
  setHostnameAsFQDN: 'sandbox',
  hostnameOverride: 'sandbox',
  hostAliases: 'sandbox',
  runtimeClassName: 'sandbox',
  priority: 'nothing',
  priorityClassName: 'nothing',
  os: 'nothing',
  nodeSelector: 'nothing',
  affinity: 'nothing',
  tolerations: 'nothing',
  schedulingGates: 'nothing',
};

/**
 * The annotation io.kubernetes.container.hash, 16 hexadecimal digits: changes when a container has to be
 * recreated.
 *
 * `volumes` are the pod's; only the sources of those that the container mounts count. Kubelets read the
 * annotation as a number of 64 bits.
 */
export function containerHash(container: Container, { volumes = [] }: Pick<PodSpec, 'volumes'> = {}): string {
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  const { stopSignal } = container.lifecycle ?? {};
  return digest([
    pick(container, CONTAINER_FIELDS, 'container', 'Container'),
    volumes
      .filter(({ name }) => mounted.has(name))
      .map((volume) => normalize(volume, { kind: 'object', name: 'Volume' }))
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    stopSignal === undefined ? [] : [stopSignal],
  ]);
}

/**
 * The annotation podloop.dev/sandbox-hash, 16 hexadecimal digits: changes when the whole pod has to be
 * recreated.
 */
export function sandboxHash({ metadata, spec }: Pod): string {
  const { name, namespace = DEFAULT_NAMESPACE } = metadata;
  return digest([
    [namespace, name],
    pick(spec, SPEC_FIELDS, 'sandbox', 'PodSpec'),
    spec.hostNetwork === true ? 'host network' : hostPorts(spec),
    // It decides in which control group the sandbox is.
    computePodQos(spec),
  ]);
}

/**
 * The annotation podloop.dev/pod-hash, 16 hexadecimal digits: changes with every edit that has to recreate
 * the pod.
 *
 * These are the fields of class `pod` in update-class.ts.
 */
export function podHash(pod: Pod): string {
  const { spec } = pod;
  const { containers, initContainers = [] } = spec;
  return digest([
    sandboxHash(pod),
    pickOf(spec, SPEC_UPDATES, 'pod', 'PodSpec', ['volumes', 'containers', 'initContainers']),
    initContainers.map(definitionOf),
    containers.map(definitionOf),
    (spec.volumes ?? [])
      .map((volume) => normalize(volume, { kind: 'object', name: 'Volume' }))
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
  ]);
}

/** The fields of a container that recreate the pod. */
function definitionOf(container: Container): unknown {
  const { lifecycle, resources = {} } = container;
  const { stopSignal = '' } = lifecycle ?? {};
  return [
    pickOf(container, CONTAINER_UPDATES, 'pod', 'Container', []),
    stopSignal === '' ? [] : [stopSignal],
    fixedResources(resources),
  ];
}

function hostPorts({ containers, initContainers = [] }: PodSpec): unknown[] {
  return [...initContainers, ...containers]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort = 0 }) => hostPort !== 0)
    .map(({ containerPort, hostPort, hostIP = '', protocol = 'TCP' }) =>
      [protocol, hostIP, hostPort, containerPort].join(' '),
    )
    .sort();
}

function pick<Fields extends object>(
  fields: Fields,
  table: Readonly<Record<keyof Fields, ChangeNeeds>>,
  needs: ChangeNeeds,
  type: string,
): unknown {
  return pickOf(fields, table, needs, type, ['volumes']);
}

function pickOf<Fields extends object, Word extends string>(
  fields: Fields,
  table: Readonly<Record<keyof Fields, Word>>,
  word: Word,
  type: string,
  except: readonly string[],
): unknown {
  const counted = Object.entries(fields).filter(
    ([name]) => table[name as keyof Fields] === word && !except.includes(name),
  );
  return normalize(Object.fromEntries(counted), { kind: 'object', name: type });
}

/** Pairs sorted by key, without empty ones. */
function normalize(value: unknown, type: FieldType): unknown {
  if (type.kind === 'list') return (value as unknown[]).map((item) => normalize(item, type.of));
  if (typeof value !== 'object' || value === null) return value;
  const table = type.kind === 'object' ? (POD_TABLES[type.name] ?? {}) : {};
  return Object.entries(value as Record<string, unknown>)
    .filter(
      ([key, item]) => item !== undefined && !(Object.hasOwn(table, key) && saysNothing(item, table[key]!)),
    )
    .map(([key, item]): [string, unknown] => [
      key,
      Object.hasOwn(table, key) ? normalize(item, table[key]!.type) : item,
    ])
    .filter(([, item]) => !(Array.isArray(item) && item.length === 0))
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
