import { type ConfigObject } from '#kube/objects/config-object.js';
import { describeValue, type FieldProblem, formatValue, required } from '#kube/fields/field-problem.js';
import { isRecord } from '#base/text/is-record.js';
import { type YamlStep } from '#base/text/yaml/yaml-path.js';
import { findSimilarWord } from '#base/text/similar-word.js';
import { type ManifestProblemKind } from './manifest-problem.js';

/** An object of a document: one to read, or something else. */
export type FoundObject = FoundKind | FoundOther;

/** An object that names its kind. Without a kind, its problems are best reported as those of a pod. */
export interface FoundKind {
  readonly kind: 'Pod' | ConfigObject['kind'];
  /** From the top of the document. */
  readonly path: readonly YamlStep[];
  readonly value: unknown;
}

/** An object that a manifest cannot contain, or an invalid List. */
export interface FoundOther {
  readonly kind: 'other';
  readonly path: readonly YamlStep[];
  readonly problems: readonly OtherProblem[];
}

/** A problem of such an object. */
export type OtherProblem = Omit<FieldProblem, 'kind'> & { readonly kind: ManifestProblemKind };

const KINDS = ['Pod', 'ConfigMap', 'Secret'] as const;
/** The kind of their items if these do not name it themselves. */
const LISTS: Readonly<Record<string, FoundKind['kind'] | undefined>> = {
  List: undefined,
  PodList: 'Pod',
  ConfigMapList: 'ConfigMap',
  SecretList: 'Secret',
};
/** Objects that contain a pod template. */
const WITH_TEMPLATE = [
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'ReplicationController'],
  'PodTemplate',
];
const LIST_FIELDS = ['apiVersion', 'kind', 'metadata', 'items'];
/** kubectl prints no nested lists, and they could nest without end. */
const DEEPEST_LIST = 4;

/** The objects of a document, with Lists expanded. */
export function findObjects(
  value: unknown,
  path: readonly YamlStep[] = [],
  itemKind?: FoundKind['kind'],
): FoundObject[] {
  if (!isRecord(value)) return [{ kind: 'Pod', path, value }];
  const kind = value['kind'] ?? itemKind;
  const apiVersion = value['apiVersion'] ?? (itemKind === undefined ? undefined : 'v1');
  const known = KINDS.find((each) => each === kind);
  if (kind === undefined && isComposeFile(value)) {
    const message =
      'a Compose file is no manifest; write a Pod for its services, kompose convert helps with that';
    return [{ kind: 'other', path, problems: [{ kind: 'kind', path: [], message }] }];
  }
  if (kind === undefined || known !== undefined || typeof kind !== 'string') {
    return [{ kind: known ?? 'Pod', path, value: { ...value, kind, apiVersion } }];
  }
  if (Object.hasOwn(LISTS, kind)) return listObjects(value, kind, path);
  return [{ kind: 'other', path, problems: [{ kind: 'kind', path: ['kind'], message: whyNot(kind) }] }];
}

function isComposeFile(value: Record<string, unknown>): boolean {
  return isRecord(value['services']) && value['metadata'] === undefined && value['spec'] === undefined;
}

function listObjects(value: Record<string, unknown>, kind: string, path: readonly YamlStep[]): FoundObject[] {
  const problems: OtherProblem[] = Object.keys(value)
    .filter((name) => !LIST_FIELDS.includes(name))
    .map((name) => {
      const guess = findSimilarWord(name, LIST_FIELDS);
      const hint = guess === undefined ? `there are ${LIST_FIELDS.join(', ')}` : `did you mean ${guess}?`;
      return { kind: 'unknown', path: [name], message: `unknown field, ${hint}` };
    });
  const { apiVersion, items } = value;
  if (apiVersion !== 'v1') {
    problems.push({
      kind: 'kind',
      path: ['apiVersion'],
      message: `must be v1, not ${formatValue(apiVersion)}`,
    });
  }
  if (items === undefined || items === null) {
    problems.push(required(['items']));
  } else if (!Array.isArray(items)) {
    problems.push({ kind: 'type', path: ['items'], message: `must be a list, not ${describeValue(items)}` });
  }
  if (path.length >= 2 * DEEPEST_LIST) {
    problems.push({
      kind: 'kind',
      path: ['kind'],
      message: 'lists in lists in lists; put the objects side by side',
    });
  }
  if (problems.length > 0) return [{ kind: 'other', path, problems }];
  return (items as unknown[]).flatMap((item, index) =>
    findObjects(item, [...path, 'items', index], LISTS[kind]),
  );
}

/** Cluster objects that people put beside their pods, and what to do instead. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: 'use a hostPath volume with type DirectoryOrCreate in the pod',
  PersistentVolume: 'use a hostPath volume with type DirectoryOrCreate in the pod',
  StorageClass: 'use a hostPath volume with type DirectoryOrCreate in the pod',
  Service: 'give the container a hostPort, or connect to the address of the pod',
  Ingress: 'run a proxy in a pod with a hostPort',
  NetworkPolicy: 'filter with the firewall of this machine',
  Namespace: 'remove it: a namespace exists as soon as a pod names it',
  ServiceAccount: 'remove it: no API server issues tokens for it',
  Role: 'remove it: there is no API server to enforce it',
  RoleBinding: 'remove it: there is no API server to enforce it',
  ClusterRole: 'remove it: there is no API server to enforce it',
  ClusterRoleBinding: 'remove it: there is no API server to enforce it',
  HorizontalPodAutoscaler: 'remove it, and write one Pod for each replica',
  PodDisruptionBudget: 'remove it: pods of manifests are not evicted through an API server',
  Kustomization: 'build it first: kubectl kustomize . > pods.yaml',
  KubeletConfiguration: 'give it to the agent with --config',
};

function whyNot(kind: string): string {
  const words = [...KINDS, ...Object.keys(LISTS), ...WITH_TEMPLATE, ...Object.keys(ALTERNATIVES)];
  const guess = findSimilarWord(kind, words);
  const alternative = Object.hasOwn(ALTERNATIVES, kind) ? ALTERNATIVES[kind] : undefined;
  if (alternative !== undefined) return `${kind} is not supported; ${alternative}`;
  if (WITH_TEMPLATE.includes(kind)) {
    return `${kind} is not supported; write its template as a Pod, one for each replica`;
  }
  const hint =
    guess === undefined
      ? 'a manifest contains Pods, ConfigMaps, Secrets and Lists of them'
      : `did you mean ${guess}?`;
  return `${formatValue(kind)} is not supported; ${hint}`;
}
