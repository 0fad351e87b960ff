import { type Clock } from '#base/time/clock.js';
import { WORKLOAD_VERSIONS } from '#kube/workloads/workload.js';
import { ApiError, notFoundError } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest, isTrue, jsonAnswer } from '../http/api-request.js';
import { type ApiRouter } from '../http/api-router.js';
import { applyObject, type ApplyObject, refusal } from '../objects/apply-object.js';
import { type ObjectTurns } from '../objects/object-turns.js';
import { deleteObject, type RemoveObject } from '../objects/delete-object.js';
import { parseFieldSelector, type SelectableFields } from '../objects/field-selector.js';
import { readLabelSelector } from '../objects/label-selector.js';
import {
  type ChangeWorkload,
  patchWorkload,
  SCALED_KINDS,
  scaleHandlers,
  type ServedWorkload,
} from './change-workload.js';
import { withTables } from '../tables/answer-table.js';

export { type ServedWorkload };

/** The kinds that can be listed, by their plural names. */
const WORKLOAD_PLURALS = {
  deployments: 'Deployment',
  replicasets: 'ReplicaSet',
  statefulsets: 'StatefulSet',
  daemonsets: 'DaemonSet',
  replicationcontrollers: 'ReplicationController',
  jobs: 'Job',
  cronjobs: 'CronJob',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  services: 'Service',
} as const;

/** What follows from Services: nobody can apply it. */
const DERIVED: readonly ListedKind[] = [
  { plural: 'endpoints', kind: 'Endpoints', version: 'v1' },
  { plural: 'endpointslices', kind: 'EndpointSlice', version: 'discovery.k8s.io/v1' },
];

/** A kind as it is listed. */
interface ListedKind {
  readonly plural: string;
  readonly kind: string;
  readonly version: string;
}

const SHORT_NAMES: Partial<Record<keyof typeof WORKLOAD_PLURALS, string>> = {
  deployments: 'deploy',
  replicasets: 'rs',
  statefulsets: 'sts',
  daemonsets: 'ds',
  replicationcontrollers: 'rc',
  cronjobs: 'cj',
  persistentvolumeclaims: 'pvc',
  services: 'svc',
};

type WorkloadPlural = keyof typeof WORKLOAD_PLURALS;

/** What {@link addWorkloadRoutes} needs. */
export interface WorkloadRoutesOptions {
  readonly read: () => readonly ServedWorkload[];
  readonly apply: ApplyObject;
  readonly remove: RemoveObject;
  readonly change: ChangeWorkload;
  readonly version: () => number;
  readonly clock: Clock;
  readonly turns: ObjectTurns;
}

const FIELDS: SelectableFields<ServedWorkload> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace,
};

/** Lists, gets, applies and removes workloads, claims and Services. */
export function addWorkloadRoutes(router: ApiRouter, options: WorkloadRoutesOptions): void {
  const { apply, remove, change, turns } = options;
  for (const each of DERIVED) addReadingRoutes(router, each, options);
  for (const [name, kind] of Object.entries(WORKLOAD_PLURALS)) {
    const plural = name as WorkloadPlural;
    const listed = { plural, kind, version: WORKLOAD_VERSIONS[kind] };
    const collection = addReadingRoutes(router, listed, options);
    const take = applyObject(kind, plural, apply);
    const inTurn = (handle: ApiHandler): ApiHandler => turns.inTurn(plural, handle);
    router.answer('POST', collection, take);
    router.answer('PUT', `${collection}/:name`, inTurn(take));
    const drop = deleteObject(kind, plural, remove);
    const findOwn = (request: ApiRequest): ServedWorkload => {
      const found = find(listed, options, request);
      const [owner] = found.metadata.ownerReferences ?? [];
      if (owner === undefined) return found;
      const why = `it is made by the ${owner.kind} ${owner.name}: change or delete that`;
      throw refusal(plural, request.params['name'] ?? '', 'Conflict', why);
    };
    const dropOwn: ApiHandler = async (request) => {
      findOwn(request);
      return drop(request);
    };
    router.answer('DELETE', `${collection}/:name`, inTurn(dropOwn));
    const changes = { kind, plural, apply, change, findOwn };
    router.answer('PATCH', `${collection}/:name`, inTurn(patchWorkload(changes)));
    if (!SCALED_KINDS.includes(kind)) continue;
    const scale = scaleHandlers(changes);
    router.answer('GET', `${collection}/:name/scale`, scale.get);
    router.answer('PUT', `${collection}/:name/scale`, inTurn(scale.set));
    router.answer('PATCH', `${collection}/:name/scale`, inTurn(scale.set));
  }
}

/** Adds the lists of a kind; returns the path of one namespace's. */
function addReadingRoutes(router: ApiRouter, listed: ListedKind, options: WorkloadRoutesOptions): string {
  const { plural, version } = listed;
  const base = basePath(version);
  const collection = `${base}/namespaces/:namespace/${plural}`;
  const read = (path: string, handler: ApiHandler): void =>
    router.answer('GET', path, withTables(plural, options.clock, handler));
  read(`${base}/${plural}`, listOf(listed, options));
  read(collection, listOf(listed, options));
  read(`${collection}/:name`, (request) => jsonAnswer(find(listed, options, request)));
  return collection;
}

/** What programs that ask first learn of these kinds, by path. */
export function workloadDiscovery(): Readonly<Record<string, object>> {
  const groups = ['apps', 'batch', 'discovery.k8s.io'].map((name) => {
    const version = { groupVersion: `${name}/v1`, version: 'v1' };
    return { name, versions: [version], preferredVersion: version };
  });
  return {
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
    '/apis/apps/v1': toResourceList('apps/v1'),
    '/apis/batch/v1': toResourceList('batch/v1'),
    '/apis/discovery.k8s.io/v1': toResourceList('discovery.k8s.io/v1'),
  };
}

/** The resources of a version, as discovery lists them. */
export function workloadResources(version: string): object[] {
  const derived = DERIVED.filter((each) => each.version === version).map(({ plural: name, kind }) => ({
    ...{ name, singularName: kind.toLowerCase(), namespaced: true, kind, verbs: ['get', 'list'] },
    ...(name === 'endpoints' ? { shortNames: ['ep'] } : {}),
  }));
  const applicable = Object.entries(WORKLOAD_PLURALS)
    .filter(([, kind]) => WORKLOAD_VERSIONS[kind] === version)
    .flatMap(([name, kind]) => {
      const short = SHORT_NAMES[name as WorkloadPlural];
      const scale = { name: `${name}/scale`, singularName: '', namespaced: true, kind: 'Scale' };
      const itself = {
        ...{ name, singularName: kind.toLowerCase(), namespaced: true, kind },
        verbs: ['create', 'delete', 'get', 'list', 'patch', 'update'],
        ...(short === undefined ? {} : { shortNames: [short] }),
        ...(kind === 'PersistentVolumeClaim' ? {} : { categories: ['all'] }),
      };
      if (!SCALED_KINDS.includes(kind)) return [itself];
      const group = { group: 'autoscaling', version: 'v1' };
      return [itself, { ...scale, ...group, verbs: ['get', 'patch', 'update'] }];
    });
  return [...applicable, ...derived];
}

function toResourceList(groupVersion: string): object {
  return {
    ...{ kind: 'APIResourceList', apiVersion: 'v1', groupVersion },
    resources: workloadResources(groupVersion),
  };
}

function basePath(version: string): string {
  return version === 'v1' ? '/api/v1' : `/apis/${version}`;
}

function listOf(
  { plural, kind, version: apiVersion }: ListedKind,
  { read, version }: WorkloadRoutesOptions,
): ApiHandler {
  return ({ params, query }) => {
    if (isTrue(query, 'watch')) throw new ApiError('MethodNotAllowed', `${plural} cannot be watched`);
    const { namespace } = params;
    const hasLabels = readLabelSelector(query);
    const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', FIELDS);
    // As an API server lists them.
    const items = read()
      .filter(
        (each) =>
          each.kind === kind &&
          (namespace === undefined || each.metadata.namespace === namespace) &&
          hasLabels(each.metadata.labels ?? {}) &&
          hasFields(each),
      )
      .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const metadata = { resourceVersion: String(version()) };
    return jsonAnswer({ kind: `${kind}List`, apiVersion, metadata, items });
  };
}

function keyOf({ metadata }: ServedWorkload): string {
  return `${metadata.namespace}\0${metadata.name}`;
}

function find(
  { plural, kind: wanted }: ListedKind,
  { read }: WorkloadRoutesOptions,
  { params }: Pick<ApiRequest, 'params'>,
): ServedWorkload {
  const { namespace, name = '' } = params;
  const found = read().find(
    ({ kind, metadata }) => kind === wanted && metadata.namespace === namespace && metadata.name === name,
  );
  if (found === undefined) throw notFoundError(plural, name);
  return found;
}
