import { isRecord } from '#base/text/is-record.js';
import { decodeObject, type SupportRule } from '../fields/decode-object.js';
import { type Draft } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { type FieldProblem, required } from '../fields/field-problem.js';
import { withTableDefaults } from '../fields/table-defaults.js';
import { withoutConsequences } from '../fields/without-consequences.js';
import { withoutIgnored } from '../fields/without-ignored.js';
import { DEFAULT_NAMESPACE } from '../objects/default-namespace.js';
import { type Pod } from '../pod/pod.js';
import { readPod } from '../pod/read-pod.js';
import { findWrongServerFields } from '../fields/server-written-fields.js';
import { checkLabel } from '../validation/name-rules.js';
import { validateNewPod } from '../validation/validate-new-pod.js';
import { validateSelector, validateTemplateEnds, validateWorkload } from './validate-workload.js';
import {
  type JobSpec,
  type LabelSelector,
  type PodTemplate,
  type Workload,
  WORKLOAD_VERSIONS,
  type WorkloadMeta,
} from './workload.js';
import { WORKLOAD_TABLES } from './workload-fields.js';

/** The result of {@link readWorkload}. */
export interface WorkloadReading {
  /** As written, without defaults; absent if there are problems. */
  readonly object?: Workload;
  /** The name in the object, as far as it can be read: for messages. */
  readonly name: string;
  readonly namespace: string;
  /** All problems, those of types and unknown fields first. */
  readonly problems: readonly FieldProblem[];
}

/** How pod templates are read. */
export interface TemplateOptions {
  /** Restores a pod that a cluster has written. */
  readonly toWritten: (pod: unknown) => unknown;
  readonly isSupported?: SupportRule | undefined;
}

/** Takes the place of a name in a template, which has none. */
const ANY_NAME = 'pod';

/** Where each kind has its template. */
const TEMPLATE_PATHS: Partial<Record<Workload['kind'], readonly string[]>> = {
  Deployment: ['spec', 'template'],
  ReplicaSet: ['spec', 'template'],
  ReplicationController: ['spec', 'template'],
  StatefulSet: ['spec', 'template'],
  DaemonSet: ['spec', 'template'],
  Job: ['spec', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
};

/** Reads and validates an object of one of these kinds from plain JSON, strictly. Never throws. */
export function readWorkload(
  value: unknown,
  kind: Workload['kind'],
  options: TemplateOptions,
): WorkloadReading {
  const decoded = decodeObject(value, kind, WORKLOAD_TABLES, () => true, undefined, true);
  const draft = (decoded.value ?? {}) as Draft<Workload>;
  const path = TEMPLATE_PATHS[kind];
  const template =
    path === undefined ? undefined : readTemplate(valueAt(draft, path), path, { ...options, draft });
  const ofTemplate = template?.problems ?? [];
  const mistyped = [...decoded.problems, ...ofTemplate.filter(({ kind: each }) => each === 'type')];
  const problems = [
    ...[...decoded.problems, ...findWrongServerFields(value)],
    ...withoutConsequences([...validateWorkload(draft), ...ofTemplate], mistyped),
  ];
  const {
    name = '',
    namespace = DEFAULT_NAMESPACE,
    ...meta
  } = (draft.metadata ?? {}) as Partial<WorkloadMeta>;
  if (problems.length > 0 || template?.pod === null) return { name, namespace, problems };
  const kept = withoutIgnored(draft, { kind: 'object', name: kind }, WORKLOAD_TABLES) as Workload;
  const { labels, annotations } = meta;
  const metadata: WorkloadMeta = {
    ...{ name, namespace },
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const head = { ...kept, apiVersion: WORKLOAD_VERSIONS[kind], kind, metadata } as Workload;
  const object = path === undefined ? head : withValueAt(head, path, toTemplate(template!.pod));
  return { object: object as Workload, name, namespace, problems: [] };
}

/** Fills in Kubernetes' defaults, those of the pod template aside. Pure and idempotent. */
export function applyWorkloadDefaults<Each extends Workload>(workload: Each): Each {
  const filled = withBackoffLimit(workload);
  return withTableDefaults(filled, { kind: 'object', name: workload.kind }, WORKLOAD_TABLES) as Each;
}

/** Where failures count for each index, those of all together have no limit by default. */
function withBackoffLimit(workload: Workload): Workload {
  const filled = (spec: JobSpec): JobSpec =>
    spec.backoffLimitPerIndex === undefined ? spec : { backoffLimit: LARGEST_INT32, ...spec };
  if (workload.kind === 'Job') return { ...workload, spec: filled(workload.spec) };
  if (workload.kind !== 'CronJob') return workload;
  const { spec } = workload;
  const jobTemplate = { ...spec.jobTemplate, spec: filled(spec.jobTemplate.spec) };
  return { ...workload, spec: { ...spec, jobTemplate } };
}

const LARGEST_INT32 = 2 ** 31 - 1;

interface TemplateReading {
  /** Null if there are problems. */
  readonly pod: Pod | null;
  readonly problems: readonly FieldProblem[];
}

function readTemplate(
  value: unknown,
  path: readonly string[],
  { draft, toWritten, isSupported }: TemplateOptions & { readonly draft: Draft<Workload> },
): TemplateReading {
  if (value === undefined) return { pod: null, problems: [] };
  const problems: FieldProblem[] = [];
  if (!isRecord(value)) {
    const problem = { kind: 'type', path, message: 'must be a mapping' } as const;
    return { pod: null, problems: [problem] };
  }
  const { metadata, spec, ...others } = value;
  for (const name of Object.keys(others)) {
    problems.push({
      kind: 'unknown',
      path: [...path, name],
      message: 'unknown field, there are metadata, spec',
    });
  }
  // Only labels and annotations are of the pods; a name would be that of one.
  const own = isRecord(metadata) ? withoutNames(metadata) : metadata;
  const meta = own === undefined || own === null ? {} : own;
  const named = isRecord(meta) ? { ...meta, name: ANY_NAME } : meta;
  const claims = claimVolumesOf(draft, spec);
  const written = toWritten({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: named,
    spec: withVolumes(spec, claims),
  });
  const reading = readPod(written, isSupported);
  const pod = reading.pod === undefined ? undefined : withoutVolumes(reading.pod, claims, spec);
  const found = [...reading.problems, ...(reading.pod === undefined ? [] : validateNewPod(reading.pod))];
  problems.push(...found.map((problem) => ({ ...problem, path: [...path, ...problem.path] })));
  const kind = draft.kind!;
  if (isRecord(spec)) {
    const jobSpec = valueAt(draft, path.slice(0, -1)) as { readonly podFailurePolicy?: unknown };
    const hasPolicy = jobSpec.podFailurePolicy !== undefined;
    problems.push(...validateTemplateEnds(kind, spec, path, hasPolicy));
  }
  const labels = pod?.metadata.labels ?? {};
  const selector = selectorOf(draft, kind);
  if (pod !== undefined && selector !== undefined && !hasGaps(selector))
    problems.push(...validateSelector(kind, selector, labels));
  // Its default is the labels of the template.
  const hasLabels = pod === undefined || Object.keys(labels).length > 0;
  if (kind === 'ReplicationController' && selector === undefined && !hasLabels)
    problems.push(required(['spec', 'selector']));
  return { pod: pod ?? null, problems };
}

interface ClaimVolume {
  readonly name: string;
  readonly persistentVolumeClaim: { readonly claimName: string };
}

/** The volumes that a StatefulSet's pods get from its claims, and its template may mount: those it lacks. */
function claimVolumesOf(draft: Draft<Workload>, spec: unknown): ClaimVolume[] {
  if (draft.kind !== 'StatefulSet') return [];
  const own = new Set(listAt(spec, ['volumes']).map((volume) => valueAt(volume, ['name'])));
  const names = listAt(draft, ['spec', 'volumeClaimTemplates']).map((claim) =>
    valueAt(claim, ['metadata', 'name']),
  );
  return [...new Set(names)]
    .filter((name) => typeof name === 'string')
    .filter((name) => !own.has(name) && checkLabel(name) === undefined)
    .map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
}

/** Behind the others, so that problems name the places of what is written. */
function withVolumes(spec: unknown, more: readonly ClaimVolume[]): unknown {
  if (more.length === 0 || !isRecord(spec)) return spec;
  const { volumes = [] } = spec;
  const isList = volumes === null || Array.isArray(volumes);
  return isList ? { ...spec, volumes: [...listAt(spec, ['volumes']), ...more] } : spec;
}

function withoutVolumes(pod: Pod, more: readonly ClaimVolume[], written: unknown): Pod {
  if (more.length === 0) return pod;
  const names = new Set(more.map(({ name }) => name));
  const { volumes = [], ...spec } = pod.spec;
  const others = volumes.filter(({ name }) => !names.has(name));
  const hasOwn = Array.isArray(valueAt(written, ['volumes']));
  return { ...pod, spec: hasOwn ? { ...spec, volumes: others } : spec };
}

function listAt(value: unknown, path: FieldPath): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

function withoutNames(metadata: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { name: _, generateName: __, namespace: ___, uid: ____, ...kept } = metadata;
  return kept;
}

function selectorOf(draft: Draft<Workload>, kind: Workload['kind']): LabelSelector | undefined {
  const spec = (draft as { readonly spec?: { readonly selector?: unknown } }).spec;
  if (kind === 'ReplicationController') {
    const matchLabels = spec?.selector as Readonly<Record<string, string>> | undefined;
    return matchLabels === undefined ? undefined : { matchLabels };
  }
  return spec?.selector as LabelSelector | undefined;
}

/** Whether a value of another type is left out of a list in it, which was reported: nothing else can be said of it. */
function hasGaps({ matchExpressions = [] }: LabelSelector): boolean {
  return (matchExpressions as readonly unknown[]).some(
    (each) =>
      [each, valueAt(each, ['key']), valueAt(each, ['operator'])].includes(undefined) ||
      listAt(each, ['values']).includes(undefined),
  );
}

function toTemplate({ metadata: { labels, annotations }, spec }: Pod): PodTemplate {
  const metadata = {
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return Object.keys(metadata).length === 0 ? { spec } : { metadata, spec };
}

function valueAt(value: unknown, path: FieldPath): unknown {
  let found = value;
  for (const step of path) found = isRecord(found) ? found[step as string] : undefined;
  return found;
}

function withValueAt(value: unknown, [step, ...rest]: readonly string[], put: unknown): unknown {
  if (step === undefined) return put;
  const own = value as Readonly<Record<string, unknown>>;
  return { ...own, [step]: withValueAt(own[step], rest, put) };
}
