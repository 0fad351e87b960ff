import { type EventObject, type KubeObject } from '#kube/columns/kube-object.js';
import { columnsOf } from '#kube/columns/resource-columns.js';
import { WORKLOAD_COLUMNS } from '#kube/columns/workload-columns.js';
import { describeEvents } from '../../shared/describe/describe-events.js';
import { cell, type TabWriter } from '../../shared/describe/tab-writer.js';

/** As much of a workload or a claim as is described. */
interface WorkloadObject extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly template?: TemplateObject;
    readonly jobTemplate?: { readonly spec?: { readonly template?: TemplateObject } };
  };
  readonly status?: { readonly conditions?: readonly ConditionObject[] };
}

interface ConditionObject {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

interface TemplateObject {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly restartPolicy?: string;
    readonly containers?: readonly ContainerObject[];
    readonly initContainers?: readonly ContainerObject[];
  };
}

interface ContainerObject {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

/** Whether a kind is described like a workload. */
export function isWorkloadType(plural: string): boolean {
  return WORKLOAD_COLUMNS.has(plural);
}

/** What follows the metadata of a workload: what it wants, how far it is, and its pods’ template. */
export function describeWorkload(
  plural: string,
  object: KubeObject,
  { events, nowMs }: { readonly events: readonly EventObject[] | undefined; readonly nowMs: number },
  writer: TabWriter,
): void {
  const { metadata = {}, spec = {}, status = {} } = object as WorkloadObject;
  const [owner] = metadata.ownerReferences ?? [];
  if (owner !== undefined) writer.field(0, 'Controlled By', `${owner.kind}/${owner.name}`);
  const { names, wide, row } = columnsOf(plural);
  const cells = row(object, nowMs);
  for (const [index, name] of [...names, ...wide].entries()) {
    if (!SAID_ELSEWHERE.has(name)) writer.field(0, name, cells[index]!);
  }
  for (const [name, value] of Object.entries(spec)) {
    if (SHOWN.has(name)) continue;
    if (typeof value === 'string' || typeof value === 'number') writer.field(0, toTitle(name), value);
    if (typeof value === 'boolean') writer.field(0, toTitle(name), value ? 'true' : 'false');
  }
  if (plural === 'persistentvolumeclaims')
    writer.field(0, 'Size Limit', 'where the file system has project quotas; see podloop volumes');
  describeTemplate(spec.template ?? spec.jobTemplate?.spec?.template, writer);
  const { conditions = [] } = status;
  if (conditions.length > 0) {
    writer.line(0, 'Conditions:');
    writer.line(1, 'Type\tStatus\tReason\tMessage');
    for (const { type = '', status: is = '', reason = '', message = '' } of conditions) {
      writer.line(1, [type, is, reason, message].map((text) => cell(text)).join('\t'));
    }
  }
  if (events !== undefined) describeEvents(events, nowMs, writer);
}

/** Columns that the metadata or the template has. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set(['Name', 'Age', 'Containers', 'Images', 'VolumeMode']);
/** Fields of the spec that a column has. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['replicas', 'schedule', 'timeZone', 'suspend', 'storageClassName', 'volumeName'],
]);

/** `backoffLimit` is `Backoff Limit`. */
function toTitle(field: string): string {
  const words = field.replaceAll(/([A-Z])/g, ' $1');
  return `${words[0]!.toUpperCase()}${words.slice(1)}`;
}

function describeTemplate(template: TemplateObject | undefined, writer: TabWriter): void {
  if (template?.spec === undefined) return;
  writer.line(0, 'Pod Template:');
  const { labels = {} } = template.metadata ?? {};
  const pairs = Object.keys(labels).sort();
  const text = pairs.map((key) => `${key}=${labels[key]!}`).join(',');
  writer.field(1, 'Labels', text === '' ? '<none>' : text);
  const { initContainers = [], containers = [] } = template.spec;
  for (const [title, list] of [
    ['Init Containers', initContainers],
    ['Containers', containers],
  ] as const) {
    if (list.length === 0) continue;
    writer.line(1, `${title}:`);
    for (const { name = '', image = '', command, args } of list) {
      writer.line(2, `${cell(name)}:`);
      writer.field(3, 'Image', image);
      if (command !== undefined) writer.field(3, 'Command', command.join(' '));
      if (args !== undefined) writer.field(3, 'Args', args.join(' '));
    }
  }
}
