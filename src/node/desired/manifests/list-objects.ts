import { FOREIGN_KINDS, insteadOfKind, KUSTOMIZE } from '#kube/workloads/foreign-kinds.js';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { describeValue, type FieldProblem, formatValue, required } from '#kube/fields/field-problem.js';
import { isRecord } from '#base/text/is-record.js';
import { isWorkloadKind, type Workload, WORKLOAD_VERSIONS } from '#kube/workloads/workload.js';
import { type YamlStep } from '#base/text/yaml/yaml-path.js';
import { findSimilarWord } from '#base/text/similar-word.js';
import { type ManifestProblemKind } from './manifest-problem.js';

/** An object of a document: one to read, or something else. */
export type FoundObject = FoundKind | FoundOther;

/** An object that names its kind. Without a kind, its problems are best reported as those of a pod. */
export interface FoundKind {
  readonly kind: 'Pod' | ConfigObject['kind'] | Workload['kind'];
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
  ...Object.fromEntries(
    [...KINDS, ...(Object.keys(WORKLOAD_VERSIONS) as Workload['kind'][])].map((kind) => [
      `${kind}List`,
      kind,
    ]),
  ),
};
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
  const apiVersion = value['apiVersion'] ?? (itemKind === undefined ? undefined : versionOf(itemKind));
  const known = KINDS.find((each) => each === kind) ?? (isWorkloadKind(kind) ? kind : undefined);
  const foreign = kind === undefined ? findForeignWords(value) : undefined;
  if (foreign !== undefined)
    return [{ kind: 'other', path, problems: [{ kind: 'kind', path: [], message: foreign }] }];
  if (kind === undefined || known !== undefined || typeof kind !== 'string') {
    return [{ kind: known ?? 'Pod', path, value: { ...value, kind, apiVersion } }];
  }
  if (Object.hasOwn(LISTS, kind)) return listObjects(value, kind, path);
  return [{ kind: 'other', path, problems: [{ kind: 'kind', path: ['kind'], message: whyNot(kind) }] }];
}

/** Lists of a kustomization.yaml, which needs no kind. */
const KUSTOMIZE_LISTS = [
  ...['resources', 'bases', 'components', 'patches', 'patchesStrategicMerge', 'patchesJson6902'],
  ...['configMapGenerator', 'secretGenerator', 'generators', 'transformers', 'helmCharts', 'images'],
];

/** What to do with a file that other programs read and that says no kind; undefined if it is none that is known. */
export function findForeignWords(value: unknown): string | undefined {
  if (!isRecord(value) || (value['kind'] ?? undefined) !== undefined) return undefined;
  if (value['metadata'] !== undefined || value['spec'] !== undefined) return undefined;
  if (isRecord(value['services']))
    return 'a Compose file is no manifest; write a Pod for its services, kompose convert helps with that';
  const { apiVersion, name, version } = value;
  const isKustomize = typeof apiVersion === 'string' && apiVersion.startsWith('kustomize.config.k8s.io/');
  if (isKustomize || KUSTOMIZE_LISTS.some((each) => Array.isArray(value[each])))
    return `a kustomization is no manifest; ${KUSTOMIZE}`;
  if ((apiVersion === 'v1' || apiVersion === 'v2') && typeof name === 'string' && version !== undefined)
    return 'a Helm chart is no manifest; render it first: helm template DIR | podloop validate -, or > pods.yaml';
  return undefined;
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
  const version = versionOf(LISTS[kind]);
  if (apiVersion !== version) {
    problems.push({
      kind: 'kind',
      path: ['apiVersion'],
      message: `must be ${version}, not ${formatValue(apiVersion)}`,
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

function versionOf(kind: FoundKind['kind'] | undefined): string {
  return isWorkloadKind(kind) ? WORKLOAD_VERSIONS[kind] : 'v1';
}

function whyNot(kind: string): string {
  const workloads = Object.keys(WORKLOAD_VERSIONS);
  const words = [...KINDS, ...workloads, ...Object.keys(LISTS), ...FOREIGN_KINDS];
  const guess = findSimilarWord(kind, words);
  const alternative = insteadOfKind(kind);
  if (alternative !== undefined) return `${kind} is not supported; ${alternative}`;
  const hint =
    guess === undefined
      ? 'a manifest contains Pods, ConfigMaps, Secrets, claims, workloads such as Deployments and Jobs, and Lists of them'
      : `did you mean ${guess}?`;
  return `${formatValue(kind)} is not supported; ${hint}`;
}
