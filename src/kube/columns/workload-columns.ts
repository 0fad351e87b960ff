import { formatPodSelector } from '../workloads/pod-selector.js';
import { type LabelSelector } from '../workloads/workload.js';
import { formatAge } from './human-age.js';
import { type KubeObject } from './kube-object.js';

/** A workload or a claim, as far as its columns need it. */
interface WorkloadObject extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector | Readonly<Record<string, string>>;
    readonly template?: TemplateObject;
    readonly jobTemplate?: { readonly spec?: { readonly template?: TemplateObject } };
    readonly completions?: number;
    readonly parallelism?: number;
    readonly schedule?: string;
    readonly timeZone?: string;
    readonly suspend?: boolean;
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly volumeMode?: string;
  };
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly currentNumberScheduled?: number;
    readonly numberReady?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly succeeded?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly lastScheduleTime?: string;
    readonly active?: number | readonly unknown[];
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly phase?: string;
    readonly capacity?: { readonly storage?: string };
  };
}

interface TemplateObject {
  readonly spec?: {
    readonly containers?: readonly { readonly name?: string; readonly image?: string }[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
  };
}

interface WorkloadColumns {
  readonly names: readonly string[];
  readonly wide: readonly string[];
  readonly row: (object: KubeObject, nowMs: number) => readonly string[];
}

const WIDE = ['Containers', 'Images', 'Selector'];

function columns(
  names: readonly string[],
  wide: readonly string[],
  row: (object: WorkloadObject, nowMs: number) => readonly (string | number)[],
): WorkloadColumns {
  return { names, wide, row: (object, nowMs) => row(object as WorkloadObject, nowMs).map(String) };
}

const nameOf = ({ metadata = {} }: KubeObject): string => metadata.name ?? '';
const ageOf = ({ metadata = {} }: KubeObject, nowMs: number): string =>
  formatAge(metadata.creationTimestamp, nowMs);

const REPLICAS = columns(['Name', 'Desired', 'Current', 'Ready', 'Age'], WIDE, (object, nowMs) => {
  const { replicas = 0, readyReplicas = 0 } = object.status ?? {};
  const desired = object.spec?.replicas ?? 1;
  return [nameOf(object), desired, replicas, readyReplicas, ageOf(object, nowMs), ...wideOf(object)];
});

/** The columns of workloads and claims by their plural names, as in kubectl. */
export const WORKLOAD_COLUMNS: ReadonlyMap<string, WorkloadColumns> = new Map([
  [
    'deployments',
    columns(['Name', 'Ready', 'Up-to-date', 'Available', 'Age'], WIDE, (object, nowMs) => {
      const { readyReplicas = 0, updatedReplicas = 0, availableReplicas = 0 } = object.status ?? {};
      const ready = `${readyReplicas}/${object.spec?.replicas ?? 1}`;
      return [
        ...[nameOf(object), ready, updatedReplicas, availableReplicas, ageOf(object, nowMs)],
        ...wideOf(object),
      ];
    }),
  ],
  ['replicasets', REPLICAS],
  ['replicationcontrollers', REPLICAS],
  [
    'statefulsets',
    columns(['Name', 'Ready', 'Age'], ['Containers', 'Images'], (object, nowMs) => {
      const ready = `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 1}`;
      return [nameOf(object), ready, ageOf(object, nowMs), ...wideOf(object).slice(0, 2)];
    }),
  ],
  [
    'daemonsets',
    columns(
      ['Name', 'Desired', 'Current', 'Ready', 'Up-to-date', 'Available', 'Node Selector', 'Age'],
      WIDE,
      (object, nowMs) => {
        const { status = {}, spec = {} } = object;
        const selector = spec.template?.spec?.nodeSelector ?? {};
        return [
          ...[nameOf(object), status.desiredNumberScheduled ?? 0, status.currentNumberScheduled ?? 0],
          ...[status.numberReady ?? 0, status.updatedNumberScheduled ?? 0, status.numberAvailable ?? 0],
          ...[formatPodSelector({ matchLabels: selector }), ageOf(object, nowMs), ...wideOf(object)],
        ];
      },
    ),
  ],
  [
    'jobs',
    columns(['Name', 'Status', 'Completions', 'Duration', 'Age'], WIDE, (object, nowMs) => {
      const age = ageOf(object, nowMs);
      return [
        nameOf(object),
        jobStatus(object),
        completions(object),
        duration(object, nowMs),
        age,
        ...wideOf(object),
      ];
    }),
  ],
  [
    'cronjobs',
    columns(
      ['Name', 'Schedule', 'Timezone', 'Suspend', 'Active', 'Last Schedule', 'Age'],
      WIDE,
      (object, nowMs) => {
        const { schedule = '', timeZone = '<none>', suspend = false } = object.spec ?? {};
        const { active, lastScheduleTime } = object.status ?? {};
        const last = lastScheduleTime === undefined ? '<none>' : formatAge(lastScheduleTime, nowMs);
        return [
          ...[nameOf(object), schedule, timeZone, suspend ? 'True' : 'False'],
          ...[Array.isArray(active) ? active.length : 0, last, ageOf(object, nowMs), ...wideOf(object)],
        ];
      },
    ),
  ],
  [
    'persistentvolumeclaims',
    columns(
      [
        'Name',
        'Status',
        'Volume',
        'Capacity',
        'Access Modes',
        'StorageClass',
        'VolumeAttributesClass',
        'Age',
      ],
      ['VolumeMode'],
      (object, nowMs) => {
        const { spec = {}, status = {} } = object;
        return [
          ...[nameOf(object), status.phase ?? '', spec.volumeName ?? '', status.capacity?.storage ?? ''],
          ...[(spec.accessModes ?? []).map(shortMode).join(','), spec.storageClassName ?? '', '<unset>'],
          ...[ageOf(object, nowMs), spec.volumeMode ?? 'Filesystem'],
        ];
      },
    ),
  ],
]);

const MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function shortMode(mode: string): string {
  return MODES[mode] ?? mode;
}

function wideOf({ spec = {} }: WorkloadObject): readonly string[] {
  const template = spec.template ?? spec.jobTemplate?.spec?.template;
  const containers = template?.spec?.containers ?? [];
  const { selector } = spec;
  const isMap = selector !== undefined && !('matchLabels' in selector) && !('matchExpressions' in selector);
  const labels = isMap
    ? { matchLabels: selector as Readonly<Record<string, string>> }
    : (selector as LabelSelector);
  return [
    containers.map(({ name = '' }) => name).join(','),
    containers.map(({ image = '' }) => image).join(','),
    selector === undefined ? '<none>' : formatPodSelector(labels),
  ];
}

function isTrue({ status = {} }: WorkloadObject, type: string): boolean {
  return (status.conditions ?? []).some((each) => each.type === type && each.status === 'True');
}

function jobStatus(job: WorkloadObject): string {
  const find = (...types: string[]): string | undefined => types.find((type) => isTrue(job, type));
  const isLeaving = job.metadata?.deletionTimestamp !== undefined;
  return (
    find('Complete', 'Failed') ??
    (isLeaving ? 'Terminating' : find('Suspended', 'FailureTarget', 'SuccessCriteriaMet')) ??
    'Running'
  );
}

function completions({ spec = {}, status = {} }: WorkloadObject): string {
  const { succeeded = 0 } = status;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const { parallelism = 1 } = spec;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function duration({ status = {} }: WorkloadObject, nowMs: number): string {
  const { startTime, completionTime } = status;
  if (startTime === undefined) return '';
  return formatAge(startTime, completionTime === undefined ? nowMs : Date.parse(completionTime));
}
