import {
  type ConfigMapObject,
  type EventObject,
  type KubeObject,
  type NodeObject,
} from '#kube/columns/kube-object.js';
import { type ResourceType } from '../../shared/api/resource-type.js';
import { toYamlText } from '../../shared/print/object-text.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { describeEvents } from './describe-events.js';
import { describePod } from './describe-pod.js';
import { formatRfc1123 } from './rfc1123.js';
import { cell, TabWriter } from './tab-writer.js';

/** The lines that describe an object of that type. */
export function describeObject(
  type: ResourceType,
  object: KubeObject,
  events: readonly EventObject[] | undefined,
  nowMs: number,
): string[] {
  if (type.plural === 'pods') return describePod(object, events, nowMs);
  if (type.plural === 'configmaps') return describeConfigMap(object, events, nowMs);
  if (type.plural === 'nodes') return describeNode(object, events, nowMs);
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
