import {
  type ConfigMapObject,
  type EventObject,
  type KubeObject,
  type NodeObject,
  type PodObject,
} from './kube-object.js';
import { formatAge } from './human-age.js';
import { podRow } from './pod-row.js';
import { SERVICE_COLUMNS } from './service-columns.js';
import { WORKLOAD_COLUMNS } from './workload-columns.js';

/**
 * The columns of a kind of object, named as an API server names them (kubectl prints capitals), and a
 * function that makes a row.
 */
export interface ResourceColumns {
  readonly names: readonly string[];
  /** Columns that `-o wide` appends, unless {@link widePlaces} sets their position. */
  readonly wide: readonly string[];
  /** One cell per name, the wide ones at the end. */
  readonly row: (object: KubeObject, nowMs: number) => readonly string[];
  /** The order of a wide table, as indexes into the row (default: unchanged). */
  readonly widePlaces?: readonly number[];
}

const NONE = '<none>';

const PODS: ResourceColumns = {
  names: ['Name', 'Ready', 'Status', 'Restarts', 'Age'],
  wide: ['IP', 'Node', 'Nominated Node', 'Readiness Gates'],
  row: (object, nowMs) => {
    const pod: PodObject = object;
    const { ready, status, restarts } = podRow(pod, nowMs);
    const { podIPs, podIP, nominatedNodeName } = pod.status ?? {};
    return [
      ...[nameOf(pod), ready, status, restarts, ageOf(pod, nowMs)],
      ...[orNone(podIPs?.[0]?.ip ?? podIP), orNone(pod.spec?.nodeName), orNone(nominatedNodeName)],
      describeGates(pod),
    ];
  },
};

const CONFIG_MAPS: ResourceColumns = {
  names: ['Name', 'Data', 'Age'],
  wide: [],
  row: (object, nowMs) => {
    const { data = {}, binaryData = {} } = object as ConfigMapObject;
    const count = Object.keys(data).length + Object.keys(binaryData).length;
    return [nameOf(object), String(count), ageOf(object, nowMs)];
  },
};

const EVENTS: ResourceColumns = {
  names: ['Last Seen', 'Type', 'Reason', 'Object', 'Message'],
  wide: ['Subobject', 'Source', 'First Seen', 'Count', 'Name'],
  widePlaces: [0, 1, 2, 3, 5, 6, 4, 7, 8, 9],
  row: (object, nowMs) => {
    const event = object as EventObject;
    const { involvedObject = {}, source = {}, firstTimestamp, lastTimestamp, eventTime, series } = event;
    const first = formatAge(firstTimestamp ?? eventTime, nowMs);
    const last = series?.lastObservedTime ?? lastTimestamp;
    const { component = event.reportingComponent ?? '', host = '' } = source;
    const from = [component, host].filter((one) => one !== '').join(', ');
    const { kind = '', name = '', fieldPath = '' } = involvedObject;
    const about = kind === '' ? name : `${kind.toLowerCase()}/${name}`;
    const words = (event.message ?? '').trim();
    return [
      ...[last ? formatAge(last, nowMs) : first, event.type ?? '', event.reason ?? '', about, words],
      ...[fieldPath, from, first, String(series?.count ?? event.count ?? 1), nameOf(event)],
    ];
  },
};

const NODES: ResourceColumns = {
  names: ['Name', 'Status', 'Roles', 'Age', 'Version'],
  wide: ['Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version', 'Container-Runtime'],
  row: (object, nowMs) => {
    const node = object as NodeObject;
    const { addresses = [], nodeInfo = {} } = node.status ?? {};
    const address = (type: string): string => orNone(addresses.find((one) => one.type === type)?.address);
    const { osImage, kernelVersion, containerRuntimeVersion, kubeletVersion = '' } = nodeInfo;
    return [
      ...[nameOf(node), describeNodeStatus(node), describeRoles(node), ageOf(node, nowMs), kubeletVersion],
      ...[address('InternalIP'), address('ExternalIP')],
      ...[osImage, kernelVersion, containerRuntimeVersion].map((text) => orUnknown(text)),
    ];
  },
};

const PLAIN: ResourceColumns = {
  names: ['Name', 'Age'],
  wide: [],
  row: (object, nowMs) => [nameOf(object), ageOf(object, nowMs)],
};

const COLUMNS = new Map<string, ResourceColumns>([
  ...WORKLOAD_COLUMNS,
  ...SERVICE_COLUMNS,
  ['pods', PODS],
  ['configmaps', CONFIG_MAPS],
  ['events', EVENTS],
  ['nodes', NODES],
]);

/** The columns of a resource by its plural name, as in kubectl. */
export function columnsOf(resource: string): ResourceColumns {
  return COLUMNS.get(resource) ?? PLAIN;
}

function nameOf({ metadata = {} }: KubeObject): string {
  return metadata.name ?? '';
}

function ageOf({ metadata = {} }: KubeObject, nowMs: number): string {
  return formatAge(metadata.creationTimestamp, nowMs);
}

function orNone(text: string | undefined): string {
  return text === undefined || text === '' ? NONE : text;
}

function orUnknown(text: string | undefined): string {
  return text === undefined || text === '' ? '<unknown>' : text;
}

function describeGates({ spec = {}, status = {} }: PodObject): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return NONE;
  const isTrue = (type: string | undefined): boolean =>
    (status.conditions ?? []).some((one) => one.type === type && one.status === 'True');
  return `${gates.filter(({ conditionType }) => isTrue(conditionType)).length}/${gates.length}`;
}

function describeNodeStatus({ spec = {}, status = {} }: NodeObject): string {
  const ready = (status.conditions ?? []).find(({ type }) => type === 'Ready');
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

const ROLE_LABEL = 'node-role.kubernetes.io/';

function describeRoles({ metadata = {} }: NodeObject): string {
  const labels = Object.keys(metadata.labels ?? {});
  const roles = labels
    .filter((label) => label.startsWith(ROLE_LABEL))
    .map((label) => label.slice(ROLE_LABEL.length));
  return roles.length === 0 ? NONE : roles.sort().join(',');
}
