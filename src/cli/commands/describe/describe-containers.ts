import {
  type ContainerObject,
  type ContainerStateObject,
  type ContainerStatusObject,
  type PodObject,
  type PortObject,
  type ResourcesObject,
} from '#kube/columns/kube-object.js';
import { describeEnv } from './describe-env.js';
import { describeProbe } from './describe-probe.js';
import { formatRfc1123 } from './rfc1123.js';
import { cell, type TabWriter } from './tab-writer.js';

/** Containers of one kind of a pod. */
export interface DescribedContainers {
  readonly label: string;
  readonly containers: readonly ContainerObject[];
  readonly statuses: readonly ContainerStatusObject[];
  readonly pod: PodObject;
}

/** Each container with its state, resources, probes, environment and mounts. */
export function describeContainers(what: DescribedContainers, writer: TabWriter): void {
  const { label, containers, statuses, pod } = what;
  writer.line(0, `${label}:${containers.length === 0 ? ' <none>' : ''}`);
  for (const container of containers) {
    const status = statuses.find(({ name }) => name === container.name);
    describeBasics(container, status, writer);
    describeCommand(container, writer);
    if (status !== undefined) describeStatus(status, writer);
    describeResources(container.resources ?? {}, 2, writer);
    const { livenessProbe, readinessProbe, startupProbe } = container;
    if (livenessProbe !== undefined) writer.field(2, 'Liveness', describeProbe(livenessProbe));
    if (readinessProbe !== undefined) writer.field(2, 'Readiness', describeProbe(readinessProbe));
    if (startupProbe !== undefined) writer.field(2, 'Startup', describeProbe(startupProbe));
    describeEnv(container, pod, writer);
    describeMounts(container, writer);
  }
}

function describeBasics(
  container: ContainerObject,
  status: ContainerStatusObject | undefined,
  writer: TabWriter,
): void {
  const { name = '', image = '', ports = [] } = container;
  writer.line(1, `${cell(name)}:`);
  if (status !== undefined) writer.field(2, 'Container ID', status.containerID ?? '');
  writer.field(2, 'Image', image);
  if (status !== undefined) writer.field(2, 'Image ID', status.imageID ?? '');
  describePorts('Port', ports, ({ containerPort = 0 }) => containerPort, writer);
  describePorts('Host Port', ports, ({ hostPort = 0 }) => hostPort, writer);
  const { type, localhostProfile = '' } = container.securityContext?.seccompProfile ?? {};
  if (type !== undefined) writer.field(2, 'SeccompProfile', type);
  if (type === 'Localhost') writer.field(3, 'LocalhostProfile', localhostProfile);
}

function describePorts(
  title: string,
  ports: readonly PortObject[],
  numberOf: (port: PortObject) => number,
  writer: TabWriter,
): void {
  const texts = ports.map((port) => {
    const { protocol = 'TCP', name = '' } = port;
    return `${numberOf(port)}/${protocol}${name === '' ? '' : ` (${name})`}`;
  });
  writer.field(2, texts.length > 1 ? `${title}s` : title, texts.length === 0 ? '<none>' : texts.join(', '));
}

function describeCommand({ command = [], args = [] }: ContainerObject, writer: TabWriter): void {
  const list = (title: string, words: readonly string[]): void => {
    if (words.length > 0) writer.line(2, `${title}:`);
    for (const line of words.flatMap((word) => word.split('\n'))) writer.line(3, cell(line));
  };
  list('Command', command);
  list('Args', args);
}

function describeStatus(status: ContainerStatusObject, writer: TabWriter): void {
  describeContainerState('State', status.state ?? {}, writer);
  if (status.lastState?.terminated !== undefined)
    describeContainerState('Last State', status.lastState, writer);
  writer.field(2, 'Ready', status.ready === true ? 'True' : 'False');
  writer.field(2, 'Restart Count', status.restartCount ?? 0);
}

function describeContainerState(
  title: string,
  { running, waiting, terminated }: ContainerStateObject,
  writer: TabWriter,
): void {
  if (running !== undefined) {
    writer.field(2, title, 'Running');
    writer.field(3, 'Started', formatRfc1123(running.startedAt));
  } else if (terminated !== undefined) {
    const { reason = '', message = '', exitCode = 0, signal = 0, startedAt, finishedAt } = terminated;
    writer.field(2, title, 'Terminated');
    if (reason !== '') writer.field(3, 'Reason', reason);
    if (message !== '') writer.field(3, 'Message', message);
    writer.field(3, 'Exit Code', exitCode);
    if (signal > 0) writer.field(3, 'Signal', signal);
    writer.field(3, 'Started', formatRfc1123(startedAt));
    writer.field(3, 'Finished', formatRfc1123(finishedAt));
  } else {
    writer.field(2, title, 'Waiting');
    if (waiting?.reason) writer.field(3, 'Reason', waiting.reason);
  }
}

/** Limits and requests, in the order of their names. */
export function describeResources(
  { limits = {}, requests = {} }: ResourcesObject,
  level: number,
  writer: TabWriter,
): void {
  for (const [title, amounts] of Object.entries({ Limits: limits, Requests: requests })) {
    const names = Object.keys(amounts).sort();
    if (names.length > 0) writer.line(level, `${title}:`);
    for (const name of names) writer.field(level + 1, cell(name), amounts[name]!);
  }
}

function describeMounts({ volumeMounts = [] }: ContainerObject, writer: TabWriter): void {
  writer.line(2, volumeMounts.length === 0 ? 'Mounts:\t<none>' : 'Mounts:');
  const sorted = [...volumeMounts].sort((a, b) => ((a.mountPath ?? '') < (b.mountPath ?? '') ? -1 : 1));
  for (const { mountPath = '', name = '', readOnly, subPath = '' } of sorted) {
    const flags = [
      readOnly === true ? 'ro' : 'rw',
      ...(subPath === '' ? [] : [`path=${JSON.stringify(subPath)}`]),
    ];
    writer.line(3, `${cell(mountPath)} from ${cell(name)} (${cell(flags.join(','))})`);
  }
}
