import { Command } from 'commander';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import {
  type ConfigMapObject,
  type EventObject,
  type KubeObject,
  type NodeObject,
} from '#kube/columns/kube-object.js';
import { readSelection, refuseSecrets } from '../../shared/api/object-selection.js';
import { findResourceType, pathOf, type ResourceType } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { describeNothing, withKinds } from '../../shared/api/get-request.js';
import { selectorOption } from '../../shared/selector-option.js';
import { wrapNotes } from '../../help-layout.js';
import { toYamlText } from '../../shared/print/object-text.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { describeEvents, readEventsOf } from '../../shared/describe/describe-events.js';
import { describePod } from '../../shared/describe/describe-pod.js';
import { describeService, type ServiceFacts } from './describe-service.js';
import { describeWorkload, isWorkloadType } from './describe-workload.js';
import { formatRfc1123 } from '../../shared/describe/rfc1123.js';
import { cell, TabWriter } from '../../shared/describe/tab-writer.js';

interface DescribeFlags extends SessionFlags {
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly showEvents: boolean;
}

const HELP = `
A name may be the beginning of one: all that begin with it are described.

Examples:
  # All that is known of a pod, what happened to it last
  podloop describe pod web

  # Every pod with a label
  podloop describe pods -l app=web`;

/** `podloop describe`: one object at length, as kubectl shows it. */
export function describeCommand(host: CliHost): Command {
  const command = new Command('describe')
    .description(
      'Show all that is known of pods and other objects of a running agent, with what happened to them.',
    )
    .argument('<what...>', 'Kind and names, as in "pods", "pod web" or "pod/web"');
  return addSessionFlags(command)
    .option('-A, --all-namespaces', 'Objects of all namespaces', false)
    .addOption(selectorOption())
    .option('--show-events', 'Show the events of each object', true)
    .option('--no-show-events', 'Do not show events')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: DescribeFlags) => {
      await withAgent(host, flags, (session) => describe(words, flags, session, host));
    });
}

async function describe(
  words: readonly string[],
  flags: DescribeFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { allNamespaces, selector } = flags;
  const selection = readSelection(words, { hasSelector: selector !== undefined, allNamespaces }, 'describe');
  refuseSecrets(selection);
  const namespace = allNamespaces ? undefined : session.namespace;
  const found: { type: ResourceType; object: KubeObject }[] = [];
  const failures: ApiError[] = [];
  const list = async (type: ResourceType): Promise<KubeObject[]> =>
    withKinds(await session.client.get(pathOf(type, namespace), { labelSelector: selector }));
  if (selection.names.length === 0) {
    for (const type of selection.types) found.push(...(await list(type)).map((object) => ({ type, object })));
  }
  for (const { type, name } of selection.names) {
    try {
      found.push({ type, object: await session.client.get(pathOf(type, namespace, name)) });
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
      const alike = (await list(type)).filter(({ metadata }) => metadata?.name?.startsWith(name) === true);
      found.push(...alike.map((object) => ({ type, object })));
      if (alike.length === 0) failures.push(error);
    }
  }
  for (const [at, { type, object }] of found.entries()) {
    const events = flags.showEvents ? await readEventsOf(session.client, object) : undefined;
    if (at > 0) for (let blank = 0; blank < 2; blank++) await host.stdout.writeLine('');
    const endpoints = type.plural === 'services' ? await endpointsOf(session, object) : undefined;
    for (const line of describeObject(type, object, { events, endpoints, nowMs: host.clock.now() }))
      await host.stdout.writeLine(line);
  }
  if (failures.length > 0) throw new CommandFailure(failures.flatMap(({ lines }) => lines));
  if (found.length > 0) return;
  await host.stderr.writeLine(describeNothing(selection, allNamespaces, session.namespace));
}

/** Where a Service leads; undefined if it has no selector, or the agent cannot answer. */
async function endpointsOf(
  { client }: AgentSession,
  { metadata: { namespace, name } = {} }: KubeObject,
): Promise<ServiceFacts['endpoints']> {
  try {
    return await client.get(pathOf(findResourceType('endpoints'), namespace, name));
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** The lines that describe an object of that type. */
function describeObject(
  type: ResourceType,
  object: KubeObject,
  { events, endpoints, nowMs }: ServiceFacts,
): string[] {
  if (type.plural === 'pods') return describePod(object, events, nowMs);
  if (type.plural === 'configmaps') return describeConfigMap(object, events, nowMs);
  if (type.plural === 'nodes') return describeNode(object, events, nowMs);
  if (type.plural === 'services') {
    const writer = new TabWriter();
    describeMetadata(object, writer);
    describeService(object, { events, endpoints, nowMs }, writer);
    return writer.lines();
  }
  if (isWorkloadType(type.plural)) {
    const writer = new TabWriter();
    describeMetadata(object, writer);
    describeWorkload(type.plural, object, { events, nowMs }, writer);
    return writer.lines();
  }
  return toYamlText(object)
    .split('\n')
    .map((line) => escapeTerminal(line));
}

function describeConfigMap(
  configMap: ConfigMapObject,
  events: readonly EventObject[] | undefined,
  nowMs: number,
): string[] {
  const { data = {}, binaryData = {} } = configMap;
  const writer = new TabWriter();
  describeMetadata(configMap, writer);
  const lines = writer.lines();
  lines.push('', 'Data', '====');
  for (const key of Object.keys(data).sort()) {
    lines.push(`${key}:`, '----', ...data[key]!.split('\n').map((line) => escapeTerminal(line)), '');
  }
  lines.push('', 'BinaryData', '====');
  for (const key of Object.keys(binaryData).sort()) {
    lines.push(`${key}: ${Buffer.from(binaryData[key]!, 'base64').length} bytes`, '');
  }
  const rest = new TabWriter();
  if (events !== undefined) describeEvents(events, nowMs, rest);
  return [...lines, ...rest.lines()];
}

function describeNode(node: NodeObject, events: readonly EventObject[] | undefined, nowMs: number): string[] {
  const { addresses = [], capacity = {}, allocatable = {}, conditions = [] } = node.status ?? {};
  const writer = new TabWriter();
  describeMetadata(node, writer);
  if (conditions.length > 0) {
    writer.line(0, 'Conditions:');
    writer.line(1, 'Type\tStatus\tReason\tMessage');
    for (const { type = '', status = '', reason = '', message = '' } of conditions) {
      writer.line(1, [type, status, reason, message].map((text) => cell(text)).join('\t'));
    }
  }
  writer.line(0, 'Addresses:');
  for (const { type = '', address = '' } of addresses) writer.field(1, cell(type), address);
  for (const [title, amounts] of Object.entries({ Capacity: capacity, Allocatable: allocatable })) {
    writer.line(0, `${title}:`);
    for (const name of Object.keys(amounts).sort()) writer.field(1, cell(name), amounts[name]!);
  }
  if (events !== undefined) describeEvents(events, nowMs, writer);
  return writer.lines();
}

function describeMetadata({ metadata = {} }: KubeObject, writer: TabWriter): void {
  const { name = '', namespace, labels = {}, annotations = {}, creationTimestamp } = metadata;
  writer.field(0, 'Name', name);
  if (namespace !== undefined) writer.field(0, 'Namespace', namespace);
  for (const [title, pairs, sign] of [
    ['Labels', labels, '='],
    ['Annotations', annotations, ': '],
  ] as const) {
    const lines = Object.keys(pairs)
      .sort()
      .map((key) => cell(`${key}${sign}${pairs[key]!}`));
    if (lines.length === 0) lines.push('<none>');
    for (const [at, line] of lines.entries()) writer.line(0, `${at === 0 ? `${title}:` : ''}\t${line}`);
  }
  if (creationTimestamp !== undefined) writer.field(0, 'CreationTimestamp', formatRfc1123(creationTimestamp));
}
