/**
 * Whether what a manifest says has changed so that a container, or the whole pod, has to be made anew.
 *
 * Counted is what was written, is honoured, and says more than leaving it out; and of that only what is settled when
 * a container or sandbox is made. What podloop starts to support later was refused before, or said nothing, so that a
 * new version finds the same hash and restarts nothing. The order of keys does not count, that of lists does.
 *
 * What podloop makes by now bears {@link podHash} and its image, and is held against these. What an older podloop made
 * bears {@link sandboxHash} and {@link containerHash} alone: these stay as they are, so that nothing of it restarts, and
 * an edit makes anew what it did then.
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

/** What a change of a field asks for: a new container, a new sandbox, or nothing but to be heeded from then on. */
type ChangeNeeds = 'container' | 'sandbox' | 'nothing';

/** A new field must be decided on here, together with starting to support it. */
const CONTAINER_FIELDS: Readonly<Record<keyof Container, ChangeNeeds>> = {
  name: 'container',
  image: 'container',
  command: 'container',
  args: 'container',
  workingDir: 'container',
  // Only those of the node are mapped, and by the sandbox.
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
  // But for stopSignal, which the container is made with: see below.
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
  // An API server lets nobody change these.
  serviceAccountName: 'nothing',
  overhead: 'nothing',
  enableServiceLinks: 'nothing',
  // In place of the ports of the host, which say nothing there: see below.
  hostNetwork: 'nothing',
  hostPID: 'sandbox',
  hostIPC: 'sandbox',
  shareProcessNamespace: 'sandbox',
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
};

/**
 * 16 hexadecimal digits, for the annotation io.kubernetes.container.hash: changes when a container must be made anew.
 * `volumes` are the pod's; the sources of those that the container mounts count.
 *
 * Kubelets read the annotation as a number of 64 bits.
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

/** 16 hexadecimal digits, for the annotation podloop.dev/sandbox-hash: changes when the whole pod must be made anew. */
export function sandboxHash({ metadata, spec }: Pod): string {
  const { name, namespace = DEFAULT_NAMESPACE } = metadata;
  return digest([
    [namespace, name],
    pick(spec, SPEC_FIELDS, 'sandbox', 'PodSpec'),
    spec.hostNetwork === true ? 'host network' : hostPorts(spec),
    // It decides on the control group that the sandbox is in.
    computePodQos(spec),
  ]);
}

/**
 * 16 hexadecimal digits, for the annotation podloop.dev/pod-hash: changes with every edit whose class is `pod` in
 * update-class.ts, so that the pod must be made anew.
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

/** What of a container recreates the pod. */
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

/** Pairs in the order of their keys, without those that say nothing, nor those of which nothing is left. */
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
