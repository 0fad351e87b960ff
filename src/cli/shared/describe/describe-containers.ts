import {
  type ContainerObject,
  type ContainerStateObject,
  type ContainerStatusObject,
  type EnvObject,
  type KeyRefObject,
  type PodObject,
  type PortObject,
  type ProbeObject,
  type ResourcesObject,
} from '#kube/columns/kube-object.js';
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

/** A probe in one line: what it does, and its times. */
function describeProbe(probe: ProbeObject): string {
  const { initialDelaySeconds = 0, timeoutSeconds = 1, periodSeconds = 10 } = probe;
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  const times = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s`;
  return `${describeAction(probe)} ${times} successThreshold=${successThreshold} failureThreshold=${failureThreshold}`;
}

function describeAction({ exec, httpGet, tcpSocket, grpc }: ProbeObject): string {
  if (exec !== undefined) return `exec [${(exec.command ?? []).join(' ')}]`;
  if (httpGet !== undefined) {
    const { scheme = 'HTTP', host = '', port = '', path = '' } = httpGet;
    return `http-get ${scheme.toLowerCase()}://${host}:${port}${path}`;
  }
  if (tcpSocket !== undefined) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port ?? ''}`;
  if (grpc !== undefined) return `grpc <pod>:${grpc.port ?? 0} ${grpc.service ?? ''}`;
  return 'unknown';
}

/** The environment of a container as its pod says it: where a value comes from, and never a Secret's. */
function describeEnv(container: ContainerObject, pod: PodObject, writer: TabWriter): void {
  const { env = [], envFrom = [] } = container;
  if (envFrom.length > 0) writer.line(2, 'Environment Variables from:');
  for (const { prefix = '', configMapRef, secretRef } of envFrom) {
    const kind = configMapRef === undefined ? 'Secret' : 'ConfigMap';
    const { name = '', optional = false } = configMapRef ?? secretRef ?? {};
    const how = prefix === '' ? kind : `${kind} with prefix '${cell(prefix)}'`;
    writer.line(3, `${cell(name)}\t${how}\tOptional: ${optional}`);
  }
  writer.line(2, env.length === 0 ? 'Environment:\t<none>' : 'Environment:');
  for (const variable of env) describeVariable(variable, container, pod, writer);
}

function describeVariable(
  variable: EnvObject,
  container: ContainerObject,
  pod: PodObject,
  writer: TabWriter,
): void {
  const { name = '', value = '', valueFrom } = variable;
  const title = `${cell(name)}:`;
  if (valueFrom === undefined) {
    for (const [at, line] of value.split('\n').entries())
      writer.line(3, `${at === 0 ? title : ''}\t${cell(line)}`);
    return;
  }
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef !== undefined) {
    const { apiVersion = 'v1', fieldPath = '' } = fieldRef;
    writer.line(3, `${title}\t${cell(fieldOf(pod, fieldPath))} (${cell(apiVersion)}:${cell(fieldPath)})`);
  } else if (resourceFieldRef !== undefined) {
    const { resource = '' } = resourceFieldRef;
    writer.line(3, `${title}\t${cell(resourceOf(container, resource))} (${cell(resource)})`);
  } else if (secretKeyRef !== undefined) {
    writer.line(3, `${title}\t${describeKey(secretKeyRef, 'in secret')}`);
  } else if (configMapKeyRef !== undefined) {
    writer.line(3, `${title}\t${describeKey(configMapKeyRef, 'of config map')}`);
  }
}

function describeKey({ name = '', key = '', optional = false }: KeyRefObject, where: string): string {
  return `<set to the key '${cell(key)}' ${where} '${cell(name)}'>\tOptional: ${optional}`;
}

/** The fields that kubectl fills in: those of the metadata. Others, which a container gets all the same, stay empty. */
function fieldOf({ metadata = {} }: PodObject, path: string): string {
  const { name = '', namespace = '', uid = '', labels = {}, annotations = {} } = metadata;
  const plain: Readonly<Record<string, string>> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
  };
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
  if (map === undefined) return plain[path] ?? '';
  return (map === 'labels' ? labels : annotations)[key] ?? '';
}

function resourceOf({ resources = {} }: ContainerObject, resource: string): string {
  const [part, ...name] = resource.split('.');
  const amounts = part === 'limits' ? resources.limits : resources.requests;
  const amount = amounts?.[name.join('.')];
  if (amount !== undefined) return String(amount);
  return resource === 'limits.cpu' || resource === 'limits.memory' ? 'node allocatable' : '0';
}
