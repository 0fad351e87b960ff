/**
 * Objects of a manifest that stand for pods, for what pods use, or for what only a cluster has.
 *
 * Plain JSON, as in a manifest. An absent field was not written, unless {@link applyWorkloadDefaults} has been
 * applied. The tables of workload-fields.ts say what each field does.
 *
 * @module
 */
import { type PodSpec } from '../pod/pod.js';

/** Identifies such an object. */
export interface WorkloadMeta {
  readonly name: string;
  /** Never empty. */
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What all of them have. */
interface Base<Kind extends string, Spec> {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: WorkloadMeta;
  readonly spec: Spec;
}

/** The pods of a workload, as written. */
export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: PodSpec;
}

/** Which pods are of a workload. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly SelectorExpression[];
}

/** One condition on a label. */
export interface SelectorExpression {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

/** A number, or a share of the replicas such as `25%`. */
export type IntOrPercent = number | string;

interface RollingUpdate {
  readonly maxUnavailable?: IntOrPercent;
  readonly maxSurge?: IntOrPercent;
}

export type Deployment = Base<
  'Deployment',
  {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly strategy?: {
      readonly type?: 'Recreate' | 'RollingUpdate';
      readonly rollingUpdate?: RollingUpdate;
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly paused?: boolean;
  }
>;

export type ReplicaSet = Base<
  'ReplicaSet',
  {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
  }
>;

/** Its selector is a map, and may be left out. */
export type ReplicationController = Base<
  'ReplicationController',
  {
    readonly replicas?: number;
    readonly selector?: Readonly<Record<string, string>>;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
  }
>;

export type StatefulSet = Base<
  'StatefulSet',
  {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly serviceName?: string;
    readonly volumeClaimTemplates?: readonly ClaimTemplate[];
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    readonly updateStrategy?: {
      readonly type?: 'RollingUpdate' | 'OnDelete';
      readonly rollingUpdate?: { readonly partition?: number; readonly maxUnavailable?: IntOrPercent };
    };
    readonly minReadySeconds?: number;
    readonly ordinals?: { readonly start?: number };
  }
>;

export type DaemonSet = Base<
  'DaemonSet',
  {
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly updateStrategy?: {
      readonly type?: 'RollingUpdate' | 'OnDelete';
      readonly rollingUpdate?: RollingUpdate;
    };
    readonly minReadySeconds?: number;
  }
>;

/** What is to be done about a pod that failed in a certain way. */
export interface PodFailureRule {
  readonly action: 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';
  readonly onExitCodes?: {
    readonly containerName?: string;
    readonly operator: 'In' | 'NotIn';
    readonly values: readonly number[];
  };
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
}

/** Indexes whose success is enough: these, or so many of them, or so many of any. */
export interface SuccessRule {
  /** `0-2,5` */
  readonly succeededIndexes?: string;
  readonly succeededCount?: number;
}

export interface JobSpec {
  readonly parallelism?: number;
  readonly completions?: number;
  readonly completionMode?: 'NonIndexed' | 'Indexed';
  readonly backoffLimit?: number;
  readonly backoffLimitPerIndex?: number;
  readonly maxFailedIndexes?: number;
  readonly successPolicy?: { readonly rules: readonly SuccessRule[] };
  readonly activeDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly suspend?: boolean;
  readonly podFailurePolicy?: { readonly rules: readonly PodFailureRule[] };
  readonly podReplacementPolicy?: 'TerminatingOrFailed' | 'Failed';
  readonly template: PodTemplate;
}

export type Job = Base<'Job', JobSpec>;

export type CronJob = Base<
  'CronJob',
  {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly startingDeadlineSeconds?: number;
    readonly concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
    readonly suspend?: boolean;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly jobTemplate: {
      readonly metadata?: Pick<WorkloadMeta, 'labels' | 'annotations'>;
      readonly spec: JobSpec;
    };
  }
>;

export interface ClaimSpec {
  readonly accessModes?: readonly string[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly storageClassName?: string;
  readonly volumeMode?: 'Filesystem' | 'Block';
}

/** A claim of each pod of a StatefulSet; the name is the beginning of theirs. */
export interface ClaimTemplate {
  readonly metadata: Omit<WorkloadMeta, 'namespace'>;
  readonly spec: ClaimSpec;
}

export type PersistentVolumeClaim = Base<'PersistentVolumeClaim', ClaimSpec>;

/** What is accepted without an effect: what a cluster does with it, no agent does by itself. */
export type ClusterObject = Base<'Namespace' | 'ServiceAccount', unknown>;

const CLUSTER_OBJECT_NOTES: Readonly<Record<ClusterObject['kind'], string>> = {
  Namespace: 'accepted without effect: a namespace exists as soon as something is in it',
  ServiceAccount: 'accepted without effect: no API server issues tokens for it',
};

/** What becomes of an object that only a cluster gives a meaning, after "the Namespace … is"; undefined for other kinds. */
export function clusterObjectNote(kind: string): string | undefined {
  return kind === 'Namespace' || kind === 'ServiceAccount' ? CLUSTER_OBJECT_NOTES[kind] : undefined;
}

/** One port of a Service. */
export interface ServicePort {
  readonly name?: string;
  readonly protocol?: 'TCP' | 'UDP';
  readonly port: number;
  /** A number, or the name of a container's port (default: `port`). */
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

export interface ServiceSpec {
  readonly type?: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports?: readonly ServicePort[];
  /** `None`: headless. */
  readonly clusterIP?: string;
  readonly externalName?: string;
  readonly publishNotReadyAddresses?: boolean;
  readonly sessionAffinity?: 'None' | 'ClientIP';
}

export type Service = Base<'Service', ServiceSpec>;

/** An object of one of these kinds. */
export type Workload =
  | Deployment
  | ReplicaSet
  | ReplicationController
  | StatefulSet
  | DaemonSet
  | Job
  | CronJob
  | PersistentVolumeClaim
  | Service
  | ClusterObject;

/** The kinds, with the version that each has. */
export const WORKLOAD_VERSIONS = {
  Deployment: 'apps/v1',
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  ReplicationController: 'v1',
  Job: 'batch/v1',
  CronJob: 'batch/v1',
  PersistentVolumeClaim: 'v1',
  Namespace: 'v1',
  ServiceAccount: 'v1',
  Service: 'v1',
} as const satisfies Readonly<Record<Workload['kind'], string>>;

/** Whether a kind is one of {@link Workload}. */
export function isWorkloadKind(kind: unknown): kind is Workload['kind'] {
  return typeof kind === 'string' && Object.hasOwn(WORKLOAD_VERSIONS, kind);
}

/** The template of an object's pods, and where it is written; undefined for one that has no pods. Pure. */
export function findPodTemplate(
  workload: Workload,
): { readonly template: PodTemplate; readonly path: readonly string[] } | undefined {
  switch (workload.kind) {
    case 'CronJob':
      return {
        template: workload.spec.jobTemplate.spec.template,
        path: ['spec', 'jobTemplate', 'spec', 'template'],
      };
    case 'PersistentVolumeClaim':
    case 'Namespace':
    case 'ServiceAccount':
    case 'Service':
      return undefined;
    default:
      return { template: workload.spec.template, path: ['spec', 'template'] };
  }
}
