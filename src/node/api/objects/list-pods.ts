import { staticPodName } from '#kube/pod/static-pod.js';
import { type Clock } from '#base/time/clock.js';
import { ApiError, badRequest, notFoundError } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest, isTrue } from '../http/api-request.js';
import { parseFieldSelector, type SelectableFields } from './field-selector.js';
import { readLabelSelector } from './label-selector.js';
import { type PodRow, type PodTable } from './pod-table.js';
import { PodWatch } from './pod-watch.js';
import { readWhole } from '../http/read-number.js';
import { type V1Pod } from './render-pod.js';
import { streamOf, tableWriterFor } from '../tables/answer-table.js';
import { type TableWriter } from '../tables/table-writer.js';
import { watchAnswer, type WatchPlaces } from '../http/watch-answer.js';

/** What lists and watches of pods need. */
export interface ListPodsOptions {
  readonly table: PodTable;
  readonly watches: WatchPlaces;
}

const FIELDS: SelectableFields<PodRow> = {
  'metadata.name': ({ served }) => served.pod.metadata.name,
  'metadata.namespace': ({ served }) => served.pod.metadata.namespace,
  'metadata.uid': ({ served }) => served.pod.metadata.uid,
  'spec.nodeName': ({ served }) => served.pod.spec.nodeName ?? '',
  'spec.restartPolicy': ({ served }) => served.pod.spec.restartPolicy ?? 'Always',
  'spec.hostNetwork': ({ served }) => String(served.pod.spec.hostNetwork ?? false),
  'status.phase': ({ served }) => served.status.phase,
  'status.podIP': ({ served }) => served.status.podIP ?? '',
};

/** GET …/pods: a list, or with `watch` every change of it; of one namespace if the path names one. */
export function listPods({ table, watches }: ListPodsOptions): ApiHandler {
  return (request) => {
    const { query } = request;
    const matches = readSelection(request);
    // A change that nobody reported is seen here at the latest.
    table.refreshAll();
    const tables = tableWriterFor(request, 'pods', watches.clock);
    if (!isTrue(query, 'watch'))
      return streamOf(listPieces(table.list().filter(matches), table.version, tables));
    const since = readSince(query);
    const marksInitialEnd = isTrue(query, 'sendInitialEvents');
    return watchAnswer(request, watches, (signal) =>
      new PodWatch({
        ...{ table, matches, signal, marksInitialEnd, tables },
        since: marksInitialEnd ? undefined : since,
      }).lines(),
    );
  };
}

/** GET …/pods/{name}. */
export function getPod(findPod: (request: ApiRequest) => PodRow, clock: Pick<Clock, 'now'>): ApiHandler {
  return (request) => {
    const row = findPod(request);
    return streamOf([tableWriterFor(request, 'pods', clock)?.one(row.object) ?? row.json]);
  };
}

/**
 * Finds the pod in a path, or throws NotFound; used by everything that acts on one pod.
 *
 * It is the pod with that name, otherwise the only one with that name in its manifest. Of several with one
 * name, as while one that was force-deleted is ending, it is the one with the uid of the path, otherwise the
 * newest one that nobody has deleted.
 */
export function podFinder(table: PodTable): (request: Pick<ApiRequest, 'params'>) => PodRow {
  return ({ params }) => {
    const { namespace = '', name = '', uid } = params;
    table.refreshAll();
    const there = table.list().filter(({ served }) => served.pod.metadata.namespace === namespace);
    const called = there.filter(({ served }) => served.pod.metadata.name === name);
    const found = pick(called.length > 0 ? called : findOnlyName(there, name), uid);
    if (found === undefined) throw absentPod(there, name);
    return found;
  };
}

/** NotFound; where the name is that of a workload, it says what names one of its pods. */
function absentPod(rows: readonly PodRow[], name: string): ApiError {
  const error = notFoundError('pods', name);
  for (const { served } of rows) {
    const { name: podName, ownerReferences } = served.pod.metadata;
    const [owner] = ownerReferences ?? [];
    // A Deployment's pods are made by its ReplicaSets, whose names have one word more.
    const isDeployment = owner?.kind === 'ReplicaSet' && owner.name.replace(/-[^-]+$/, '') === name;
    if (!isDeployment && owner?.name !== name) continue;
    const kind = isDeployment ? 'Deployment' : owner.kind;
    const message = `${error.message}; there is a ${kind} of that name: write ${kind.toLowerCase()}/${name} for one of its pods, or a pod such as ${podName}`;
    return new ApiError('NotFound', message, error.details);
  }
  return error;
}

/** The pods whose manifest has this name, unless they have several names. */
function findOnlyName(rows: readonly PodRow[], name: string): readonly PodRow[] {
  const found = rows.filter(({ served: { pod } }) => {
    const { nodeName } = pod.spec;
    return nodeName !== undefined && pod.metadata.name === staticPodName(name, nodeName);
  });
  return new Set(found.map(({ served }) => served.pod.metadata.name)).size === 1 ? found : [];
}

function pick(rows: readonly PodRow[], uid: string | undefined): PodRow | undefined {
  const meant = rows.find(({ served }) => served.pod.metadata.uid === uid);
  const [newest] = [...rows].sort(
    (one, other) =>
      Number(isDeleted(one)) - Number(isDeleted(other)) || other.addedVersion - one.addedVersion,
  );
  return meant ?? newest;
}

function isDeleted({ served: { pod, deletion } }: PodRow): boolean {
  return deletion !== undefined || pod.metadata.deletionTimestamp !== undefined;
}

function readSelection({ params, query }: ApiRequest): (row: PodRow) => boolean {
  const { namespace } = params;
  const hasLabels = readLabelSelector(query);
  const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', FIELDS);
  return (row) => {
    const { metadata } = row.served.pod;
    return (
      (namespace === undefined || metadata.namespace === namespace) &&
      hasLabels(metadata.labels ?? {}) &&
      hasFields(row)
    );
  };
}

/** Undefined for "everything that exists": no version, or 0, which means any. */
function readSince(query: URLSearchParams): number | undefined {
  try {
    const version = readWhole(query, 'resourceVersion');
    return version === 0 ? undefined : version;
  } catch {
    throw badRequest(`invalid resource version ${JSON.stringify(query.get('resourceVersion'))}`);
  }
}

function* listPieces(
  rows: readonly PodRow[],
  version: number,
  tables: TableWriter | undefined,
): Generator<string, void, undefined> {
  const metadata = { resourceVersion: String(version) };
  if (tables !== undefined) {
    yield* tables.list(objectsOf(rows), metadata);
    return;
  }
  yield `{"kind":"PodList","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`;
  for (const [index, row] of rows.entries()) yield (index === 0 ? '' : ',') + row.json;
  yield ']}';
}

function* objectsOf(rows: readonly PodRow[]): Generator<V1Pod, void, undefined> {
  for (const row of rows) yield row.object;
}
