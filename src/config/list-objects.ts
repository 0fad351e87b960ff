import { type FieldProblem, formatValue, required } from '../model/field-problem.js';
import { type YamlStep } from '../util/yaml-path.js';
import { findSimilarWord } from '../util/similar-word.js';
import { type ManifestProblemKind } from './manifest-problem.js';

/** An object of a document: a pod to be read, or something that is none. */
export type FoundObject = FoundPod | FoundOther;

/** An object that says it is a pod, or whose kind is best complained about as of a pod. */
export interface FoundPod {
  readonly isPod: true;
  /** From the top of the document. */
  readonly path: readonly YamlStep[];
  readonly value: unknown;
}

/** An object that is no pod. */
export interface FoundOther {
  readonly isPod: false;
  readonly path: readonly YamlStep[];
  readonly problems: readonly OtherProblem[];
}

/** A problem of an object that is no pod. */
export type OtherProblem = Omit<FieldProblem, 'kind'> & { readonly kind: ManifestProblemKind };

const LISTS = ['List', 'PodList'];
/** Objects that pods refer to, and that a later version takes from manifests. */
const LATER = ['ConfigMap', 'Secret'];
/** Objects that hold a pod inside. */
const WITH_TEMPLATE = [
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'ReplicationController'],
  'PodTemplate',
];
const LIST_FIELDS = ['apiVersion', 'kind', 'metadata', 'items'];
/** Lists in lists are not what kubectl prints, and would have no end. */
const DEEPEST_LIST = 4;

/** The objects of a document, those of Lists one by one. */
export function findObjects(value: unknown, path: readonly YamlStep[] = [], within = ''): FoundObject[] {
  if (!isRecord(value)) return [{ isPod: true, path, value }];
  const kind = value['kind'] ?? (within === 'PodList' ? 'Pod' : undefined);
  const apiVersion = value['apiVersion'] ?? (within === 'PodList' ? 'v1' : undefined);
  if (kind === undefined || kind === 'Pod' || typeof kind !== 'string') {
    return [{ isPod: true, path, value: { ...value, kind, apiVersion } }];
  }
  if (LISTS.includes(kind)) return listObjects(value, kind, path);
  return [{ isPod: false, path, problems: [{ kind: 'kind', path: ['kind'], message: whyNot(kind) }] }];
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
    problems.push({ kind: 'type', path: ['items'], message: `must be a list, not ${formatValue(items)}` });
  }
  if (path.length >= 2 * DEEPEST_LIST) {
    problems.push({
      kind: 'kind',
      path: ['kind'],
      message: 'lists in lists in lists; put the pods side by side',
    });
  }
  if (problems.length > 0) return [{ isPod: false, path, problems }];
  return (items as unknown[]).flatMap((item, index) => findObjects(item, [...path, 'items', index], kind));
}

function whyNot(kind: string): string {
  if (LATER.includes(kind)) return `${kind} is not supported yet`;
  const words = ['Pod', 'List', 'PodList', ...WITH_TEMPLATE, ...LATER];
  const guess = findSimilarWord(kind, words);
  if (WITH_TEMPLATE.includes(kind)) {
    return `${kind} is not supported; put the pod of its template into a Pod, once for each that is to run`;
  }
  const hint = guess === undefined ? 'a manifest holds Pods and Lists of them' : `did you mean ${guess}?`;
  return `${formatValue(kind)} is not supported; ${hint}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
