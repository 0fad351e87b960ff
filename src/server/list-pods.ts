import { staticPodName } from '../model/static-pod.js';
import { badRequest, notFoundError } from './api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest, isTrue } from './api-request.js';
import { parseFieldSelector, type SelectableFields } from './field-selector.js';
import { parseLabelSelector } from './label-selector.js';
import { type PodRow, type PodTable } from './pod-table.js';
import { PodWatch } from './pod-watch.js';
import { readWhole } from './read-number.js';
import { watchAnswer, type WatchPlaces } from './watch-answer.js';

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

/** GET …/pods: a list, or with `watch` every change of it. Of one namespace when the path names one. */
export function listPods({ table, watches }: ListPodsOptions): ApiHandler {
  return (request) => {
    const { query } = request;
    const matches = readSelection(request);
    // What nobody has told of is seen here at the latest.
    table.refreshAll();
    if (!isTrue(query, 'watch')) return listAnswer(table.list().filter(matches), table.version);
    const since = readSince(query);
    const marksInitialEnd = isTrue(query, 'sendInitialEvents');
    return watchAnswer(request, watches, (signal) =>
      new PodWatch({
        table,
        matches,
        signal,
        since: marksInitialEnd ? undefined : since,
        marksInitialEnd,
      }).lines(),
    );
  };
}

/** GET …/pods/{name}. */
export function getPod(findPod: (request: ApiRequest) => PodRow): ApiHandler {
  return (request) => ({
    kind: 'stream',
    contentType: 'application/json',
    pieces: once(findPod(request).json),
  });
}

/**
 * Finds the pod that a path names, or throws NotFound: the one that is called so, else the only one whose manifest calls
 * it so. Everything that is done to one pod finds it here.
 */
export function podFinder(table: PodTable): (request: ApiRequest) => PodRow {
  return ({ params }) => {
    const { namespace = '', name = '' } = params;
    table.refreshAll();
    const there = table.list().filter(({ served }) => served.pod.metadata.namespace === namespace);
    const found =
      there.find(({ served }) => served.pod.metadata.name === name) ??
      findOnly(there, ({ served: { pod } }) => {
        const { nodeName } = pod.spec;
        return nodeName !== undefined && pod.metadata.name === staticPodName(name, nodeName);
      });
    if (found === undefined) throw notFoundError('pods', name);
    return found;
  };
}

function findOnly<Item>(items: readonly Item[], isIt: (item: Item) => boolean): Item | undefined {
  const found = items.filter(isIt);
  return found.length === 1 ? found[0] : undefined;
}

function readSelection({ params, query }: ApiRequest): (row: PodRow) => boolean {
  const { namespace } = params;
  const hasLabels = parseLabelSelector(query.get('labelSelector') ?? '');
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

/** Undefined for "all that is there": no version, or 0, which stands for any. */
function readSince(query: URLSearchParams): number | undefined {
  try {
    const version = readWhole(query, 'resourceVersion');
    return version === 0 ? undefined : version;
  } catch {
    throw badRequest(`invalid resource version ${JSON.stringify(query.get('resourceVersion'))}`);
  }
}

function listAnswer(rows: readonly PodRow[], version: number): ApiAnswer {
  return { kind: 'stream', contentType: 'application/json', pieces: piecesOf(rows, version) };
}

// Rows are written out one at a time as the client takes them, so that a long list keeps nobody waiting.
// eslint-disable-next-line @typescript-eslint/require-await -- a stream of answers is asynchronous; this one never waits
async function* piecesOf(rows: readonly PodRow[], version: number): AsyncGenerator<string, void, undefined> {
  const metadata = JSON.stringify({ resourceVersion: String(version) });
  yield `{"kind":"PodList","apiVersion":"v1","metadata":${metadata},"items":[`;
  for (const [index, row] of rows.entries()) yield (index === 0 ? '' : ',') + row.json;
  yield ']}\n';
}

// eslint-disable-next-line @typescript-eslint/require-await -- as above
async function* once(text: string): AsyncGenerator<string, void, undefined> {
  yield `${text}\n`;
}
