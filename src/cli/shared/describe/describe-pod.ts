import {
  type EventObject,
  type PodObject,
  type ProjectedSourceObject,
  type TolerationObject,
  type VolumeObject,
} from '#kube/columns/kube-object.js';
import { formatAge } from '#kube/columns/human-age.js';
import { describeContainers, describeResources } from './describe-containers.js';
import { describeEvents } from './describe-events.js';
import { formatRfc1123 } from './rfc1123.js';
import { cell, TabWriter } from './tab-writer.js';

/**
 * A pod in the layout of `kubectl describe pod`.
 *
 * @param events what happened to it; undefined when that is not to be shown.
 */
export function describePod(
  pod: PodObject,
  events: readonly EventObject[] | undefined,
  nowMs: number,
): string[] {
  const writer = new TabWriter();
  describeHead(pod, writer);
  describeState(pod, nowMs, writer);
  describeAllContainers(pod, writer);
  describeConditions(pod, writer);
  const { spec = {}, status = {} } = pod;
  describeVolumes(spec.volumes ?? [], writer);
  writer.field(0, 'QoS Class', status.qosClass ?? '');
  describePairs('Node-Selectors', spec.nodeSelector ?? {}, writer);
  describeTolerations(spec.tolerations ?? [], writer);
  if (events !== undefined) describeEvents(events, nowMs, writer);
  return writer.lines();
}

function describeHead({ metadata = {}, spec = {}, status = {} }: PodObject, writer: TabWriter): void {
  writer.field(0, 'Name', metadata.name ?? '');
  writer.field(0, 'Namespace', metadata.namespace ?? '');
  if (spec.priority !== undefined) writer.field(0, 'Priority', spec.priority);
  if (spec.priorityClassName) writer.field(0, 'Priority Class Name', spec.priorityClassName);
  if (spec.runtimeClassName) writer.field(0, 'Runtime Class Name', spec.runtimeClassName);
  if (spec.serviceAccountName) writer.field(0, 'Service Account', spec.serviceAccountName);
  writer.field(0, 'Node', spec.nodeName ? `${spec.nodeName}/${status.hostIP ?? ''}` : '<none>');
  if (status.startTime !== undefined) writer.field(0, 'Start Time', formatRfc1123(status.startTime));
  describePairs('Labels', metadata.labels ?? {}, writer);
  describeAnnotations(metadata.annotations ?? {}, writer);
}

function describeState(
  { metadata = {}, spec = {}, status = {} }: PodObject,
  nowMs: number,
  writer: TabWriter,
): void {
  const { phase = '', podIPs = [], podIP = '' } = status;
  if (metadata.deletionTimestamp !== undefined && phase !== 'Failed' && phase !== 'Succeeded') {
    writer.field(0, 'Status', `Terminating (lasts ${formatAge(metadata.deletionTimestamp, nowMs)})`);
    writer.field(0, 'Termination Grace Period', `${metadata.deletionGracePeriodSeconds ?? 0}s`);
  } else {
    writer.field(0, 'Status', phase);
  }
  if (status.reason) writer.field(0, 'Reason', status.reason);
  if (status.message) writer.field(0, 'Message', status.message);
  const { type, localhostProfile } = spec.securityContext?.seccompProfile ?? {};
  if (type !== undefined) writer.field(0, 'SeccompProfile', type);
  if (type === 'Localhost') writer.field(0, 'LocalhostProfile', localhostProfile ?? '');
  writer.field(0, 'IP', podIP);
  writer.line(0, podIPs.length === 0 ? 'IPs:\t<none>' : 'IPs:');
  for (const { ip = '' } of podIPs) writer.field(1, 'IP', ip);
  if (status.nominatedNodeName) writer.field(0, 'NominatedNodeName', status.nominatedNodeName);
  if (spec.resources === undefined) return;
  writer.line(0, 'Resources:');
  describeResources(spec.resources, 1, writer);
}

function describeAllContainers(pod: PodObject, writer: TabWriter): void {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const {
    initContainerStatuses = [],
    containerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {};
  const describe = (label: string, specs: typeof containers, statuses: typeof containerStatuses): void =>
    describeContainers({ label, containers: specs, statuses, pod }, writer);
  if (initContainers.length > 0) describe('Init Containers', initContainers, initContainerStatuses);
  describe('Containers', containers, containerStatuses);
  if (ephemeralContainers.length > 0) {
    describe('Ephemeral Containers', ephemeralContainers, ephemeralContainerStatuses);
  }
}

function describeConditions({ spec = {}, status = {} }: PodObject, writer: TabWriter): void {
  const { conditions = [] } = status;
  const gates = spec.readinessGates ?? [];
  if (gates.length > 0) {
    writer.line(0, 'Readiness Gates:');
    writer.line(1, 'Type\tStatus');
    for (const { conditionType = '' } of gates) {
      const state = conditions.find(({ type }) => type === conditionType)?.status ?? '<none>';
      writer.line(1, `${cell(conditionType)} \t${cell(state)} `);
    }
  }
  if (conditions.length === 0) return;
  writer.line(0, 'Conditions:');
  writer.line(1, 'Type\tStatus');
  for (const one of conditions) writer.line(1, `${cell(one.type ?? '')} \t${cell(one.status ?? '')} `);
}

/** `a=1` and `b=2` below one another, the name in front of the first. */
function describePairs(title: string, pairs: Readonly<Record<string, string>>, writer: TabWriter): void {
  const lines = Object.keys(pairs)
    .sort()
    .map((key) => cell(`${key}=${pairs[key]!}`));
  if (lines.length === 0) lines.push('<none>');
  for (const [at, line] of lines.entries()) writer.line(0, `${at === 0 ? `${title}:` : ''}\t${line}`);
}

/** What kubectl leaves out, as it is the whole manifest once more. */
const HIDDEN_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** A longer annotation has lines of its own, of this length at most. */
const MAX_ANNOTATION_LENGTH = 140;

function describeAnnotations(annotations: Readonly<Record<string, string>>, writer: TabWriter): void {
  const keys = Object.keys(annotations)
    .filter((key) => key !== HIDDEN_ANNOTATION)
    .sort();
  if (keys.length === 0) writer.line(0, 'Annotations:\t<none>');
  for (const [at, key] of keys.entries()) {
    const title = at === 0 ? 'Annotations:' : '';
    const value = annotations[key]!.replace(/\n$/, '');
    if (value.length + key.length + 2 <= MAX_ANNOTATION_LENGTH && !value.includes('\n')) {
      writer.line(0, `${title}\t${cell(key)}: ${cell(value)}`);
      continue;
    }
    writer.line(0, `${title}\t${cell(key)}:`);
    for (const line of value.split('\n'))
      writer.line(0, `\t  ${cell(shorten(line, MAX_ANNOTATION_LENGTH - 2))}`);
  }
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}...` : text;
}

function describeTolerations(tolerations: readonly TolerationObject[], writer: TabWriter): void {
  const sorted = [...tolerations].sort((a, b) => ((a.key ?? '') < (b.key ?? '') ? -1 : 1));
  const lines = sorted.map((one) => cell(describeToleration(one)));
  if (lines.length === 0) lines.push('<none>');
  for (const [at, line] of lines.entries()) writer.line(0, `${at === 0 ? 'Tolerations:' : ''}\t${line}`);
}

function describeToleration(toleration: TolerationObject): string {
  const { key = '', value = '', effect = '', operator, tolerationSeconds } = toleration;
  const what = `${key}${value === '' ? '' : `=${value}`}${effect === '' ? '' : `:${effect}`}`;
  const exists = operator === 'Exists' && value === '' ? `${what === '' ? '' : ' '}op=Exists` : '';
  return `${what}${exists}${tolerationSeconds === undefined ? '' : ` for ${tolerationSeconds}s`}`;
}

/** The volumes of a pod: what each of them is and where it comes from. */
function describeVolumes(volumes: readonly VolumeObject[], writer: TabWriter): void {
  if (volumes.length === 0) {
    writer.line(0, 'Volumes:\t<none>');
    return;
  }
  writer.line(0, 'Volumes:');
  for (const volume of volumes) {
    writer.line(1, `${cell(volume.name ?? '')}:`);
    describeVolume(volume, writer);
  }
}

function describeVolume(volume: VolumeObject, writer: TabWriter): void {
  const {
    hostPath,
    emptyDir,
    secret,
    configMap,
    downwardAPI,
    projected,
    persistentVolumeClaim: claim,
  } = volume;
  const facts = (...pairs: [string, string | boolean | number][]): void => {
    for (const [name, value] of pairs) writer.field(2, name, String(value));
  };
  if (hostPath !== undefined) {
    const { path = '', type } = hostPath;
    facts(
      ['Type', 'HostPath (bare host directory volume)'],
      ['Path', path],
      ['HostPathType', type ?? '<none>'],
    );
  } else if (emptyDir !== undefined) {
    const { medium = '', sizeLimit = '<unset>' } = emptyDir;
    facts(
      ['Type', "EmptyDir (a temporary directory that shares a pod's lifetime)"],
      ['Medium', medium],
      ['SizeLimit', sizeLimit],
    );
  } else if (secret !== undefined) {
    const { secretName = '', optional = false } = secret;
    facts(
      ['Type', 'Secret (a volume populated by a Secret)'],
      ['SecretName', secretName],
      ['Optional', optional],
    );
  } else if (configMap !== undefined) {
    const { name = '', optional = false } = configMap;
    facts(['Type', 'ConfigMap (a volume populated by a ConfigMap)'], ['Name', name], ['Optional', optional]);
  } else if (downwardAPI !== undefined) {
    facts(['Type', 'DownwardAPI (a volume populated by information about the pod)']);
    writer.line(2, 'Items:');
    for (const { fieldRef, resourceFieldRef, path = '' } of downwardAPI.items ?? []) {
      writer.line(3, `${cell(fieldRef?.fieldPath ?? resourceFieldRef?.resource ?? '')} -> ${cell(path)}`);
    }
  } else if (projected !== undefined) {
    facts(['Type', 'Projected (a volume that contains injected data from multiple sources)']);
    for (const source of projected.sources ?? []) describeSource(source, writer);
  } else if (claim !== undefined) {
    facts(
      ['Type', 'PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)'],
      ['ClaimName', claim.claimName ?? ''],
      ['ReadOnly', claim.readOnly ?? false],
    );
  } else {
    writer.line(1, '<unknown>');
  }
}

function describeSource({ secret, configMap, downwardAPI }: ProjectedSourceObject, writer: TabWriter): void {
  if (secret !== undefined) {
    writer.field(2, 'SecretName', secret.name ?? '');
    writer.field(2, 'Optional', String(secret.optional ?? false));
  } else if (downwardAPI !== undefined) {
    writer.field(2, 'DownwardAPI', 'true');
  } else if (configMap !== undefined) {
    writer.field(2, 'ConfigMapName', configMap.name ?? '');
    writer.field(2, 'Optional', String(configMap.optional ?? false));
  }
}
