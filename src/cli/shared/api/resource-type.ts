import { CommandFailure } from '../../command-failure.js';

/** A kind of object that an agent's API has. */
export interface ResourceType {
  /** As paths and errors have it: `pods`. */
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly aliases: readonly string[];
  readonly namespaced: boolean;
  /** The version of its API (default: `v1`). */
  readonly apiVersion?: string;
}

const APPS = { namespaced: true, apiVersion: 'apps/v1' } as const;
const BATCH = { namespaced: true, apiVersion: 'batch/v1' } as const;

/** Every kind of object, in kubectl's order. */
export const RESOURCE_TYPES: readonly ResourceType[] = [
  { plural: 'configmaps', singular: 'configmap', kind: 'ConfigMap', aliases: ['cm'], namespaced: true },
  { plural: 'cronjobs', singular: 'cronjob', kind: 'CronJob', aliases: ['cj'], ...BATCH },
  { plural: 'daemonsets', singular: 'daemonset', kind: 'DaemonSet', aliases: ['ds'], ...APPS },
  { plural: 'deployments', singular: 'deployment', kind: 'Deployment', aliases: ['deploy'], ...APPS },
  { plural: 'endpoints', singular: 'endpoints', kind: 'Endpoints', aliases: ['ep'], namespaced: true },
  {
    ...{ plural: 'endpointslices', singular: 'endpointslice', kind: 'EndpointSlice', aliases: [] },
    ...{ namespaced: true, apiVersion: 'discovery.k8s.io/v1' },
  },
  { plural: 'events', singular: 'event', kind: 'Event', aliases: ['ev'], namespaced: true },
  { plural: 'jobs', singular: 'job', kind: 'Job', aliases: [], ...BATCH },
  { plural: 'nodes', singular: 'node', kind: 'Node', aliases: ['no'], namespaced: false },
  {
    ...{ plural: 'persistentvolumeclaims', singular: 'persistentvolumeclaim' },
    ...{ kind: 'PersistentVolumeClaim', aliases: ['pvc'], namespaced: true },
  },
  { plural: 'pods', singular: 'pod', kind: 'Pod', aliases: ['po'], namespaced: true },
  { plural: 'replicasets', singular: 'replicaset', kind: 'ReplicaSet', aliases: ['rs'], ...APPS },
  {
    ...{ plural: 'replicationcontrollers', singular: 'replicationcontroller' },
    ...{ kind: 'ReplicationController', aliases: ['rc'], namespaced: true },
  },
  { plural: 'secrets', singular: 'secret', kind: 'Secret', aliases: [], namespaced: true },
  { plural: 'services', singular: 'service', kind: 'Service', aliases: ['svc'], namespaced: true },
  { plural: 'statefulsets', singular: 'statefulset', kind: 'StatefulSet', aliases: ['sts'], ...APPS },
];

export const PODS = RESOURCE_TYPES.find(({ plural }) => plural === 'pods')!;

/** What `all` stands for. */
const ALL = 'all';
/** In kubectl's order. */
const IN_ALL = [
  ...['pods', 'replicationcontrollers', 'daemonsets', 'deployments', 'replicasets', 'statefulsets'],
  ...['cronjobs', 'jobs'],
].map((plural) => RESOURCE_TYPES.find((type) => type.plural === plural)!);

/** Whether a word names no kind but a group of them, in which each object is shown with its kind. */
export function isTypeGroup(word: string): boolean {
  return word.toLowerCase() === ALL;
}

/** Whether objects of the type make pods of a template. */
export function hasPodTemplate(type: ResourceType): boolean {
  return type !== PODS && IN_ALL.includes(type);
}

/** As output and names have it: `pod`, `deployment.apps`. */
export function qualifiedName({ singular, apiVersion = 'v1' }: ResourceType): string {
  const [group, version] = apiVersion.split('/');
  return version === undefined ? singular : `${singular}.${group}`;
}

/** The types that a word names, `all` being several. Throws a CommandFailure. */
export function findResourceTypes(word: string): readonly ResourceType[] {
  return isTypeGroup(word) ? IN_ALL : [findResourceType(word)];
}

/** The type that a word names: in the plural, in the singular, short, or with version and group. Throws a CommandFailure. */
export function findResourceType(word: string): ResourceType {
  const found = RESOURCE_TYPES.find((type) => isNameOf(type, word));
  if (found === undefined) throw unknownType(word);
  return found;
}

/** Kinds that only a cluster has, by all of their words: what is there instead. */
const FOREIGN_TYPES: readonly (readonly [RegExp, string])[] = [
  [/^(?:ns|namespaces?)$/, 'A namespace is there as soon as something is in it: podloop get all -A'],
  [
    /^(?:pv|persistentvolumes?|sc|storageclass(?:es)?)$/,
    'Claims have folders of this node: podloop volumes, podloop get pvc',
  ],
  [
    /^(?:sa|serviceaccounts?|(?:cluster)?role(?:binding)?s?)$/,
    'They give rights at an API server, and there is none',
  ],
  [
    /^(?:ing|ingress(?:es)?)$/,
    'A Service with a nodePort is reached from outside; a proxy is a pod with a hostPort',
  ],
  [/^(?:hpa|horizontalpodautoscalers?)$/, 'podloop scale sets how many pods a workload has'],
];

/** kubectl's words, and which kinds there are; `hint` says what else may have been meant. */
export function unknownType(word: string, hint?: string): CommandFailure {
  const instead = FOREIGN_TYPES.find(([pattern]) => pattern.test(word.toLowerCase()))?.[1];
  if (instead !== undefined)
    return new CommandFailure([`error: the server doesn't have a resource type "${word}"`, instead]);
  const kinds = RESOURCE_TYPES.map(({ plural }) => plural);
  return new CommandFailure([
    `error: the server doesn't have a resource type "${word}"`,
    `There are ${kinds.slice(0, -1).join(', ')} and ${kinds.at(-1)}.`,
    ...(hint === undefined ? [] : [hint]),
  ]);
}

/** Whether a word names a kind, or a group of kinds. */
export function isResourceType(word: string): boolean {
  return isTypeGroup(word) || RESOURCE_TYPES.some((type) => isNameOf(type, word));
}

function isNameOf({ plural, singular, aliases, apiVersion = 'v1' }: ResourceType, word: string): boolean {
  const group = apiVersion === 'v1' ? '' : apiVersion.split('/')[0]!;
  let name = word.toLowerCase();
  if (group !== '' && name.endsWith(`.${group}`)) name = name.slice(0, -group.length - 1);
  name = name.replace(/\.v1\.?$/, '');
  return [plural, singular].includes(name) || aliases.includes(name);
}

/** The type of objects of that kind; undefined for one that an agent has not. */
export function findTypeOfKind(kind: string): ResourceType | undefined {
  return RESOURCE_TYPES.find((type) => type.kind === kind);
}

/** The path of a collection, or of one object in it. Without a namespace: over all of them. */
export function pathOf(type: ResourceType, namespace: string | undefined, name?: string): string {
  const scope =
    type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  const { apiVersion = 'v1' } = type;
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${base}${scope}/${type.plural}${object}`;
}
