/**
 * Podloop's own actions on pods: start a stopped pod, restart a running one, and the list of stopped pods.
 *
 * @module
 */
import { staticPodName } from '#kube/pod/static-pod.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { ApiError, notFoundError } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { readGraceSeconds } from './delete-pod.js';
import { type PodRow, type PodTable } from './pod-table.js';
import { renderPod } from './render-pod.js';
import { type ServedPod } from './served-pod.js';

/** What {@link restartPod} needs. */
export interface RestartPodOptions {
  readonly table: PodTable;
  readonly findPod: (request: ApiRequest) => PodRow;
  /**
   * Ends all of the pod with the grace period in seconds (default: its own), and runs it again.
   *
   * Resolves once that is certain to happen, also over a restart of the agent; the pod has not ended then.
   */
  readonly restart: (pod: ServedPod, gracePeriodSeconds: number | undefined) => Promise<void>;
}

/** POST …/pods/{name}/restart: answers with the ending pod. `gracePeriodSeconds` as for a DELETE. */
export function restartPod({ table, findPod, restart }: RestartPodOptions): ApiHandler {
  return async (request) => {
    const row = findPod(request);
    await restart(row.served, readGraceSeconds(request.query));
    const { uid } = row.served.pod.metadata;
    table.refresh(uid);
    const last = table.find(uid) ?? row;
    return jsonAnswer(renderPod(last.served, last.version));
  };
}

/** A pod that somebody has stopped although its manifest is still there. */
export interface ServedStop {
  /** The uid under which it runs, or ran. */
  readonly uid: string;
  /** The uid of its manifest, if that is another one. */
  readonly manifestUid?: string;
  readonly namespace: string;
  readonly name: string;
  readonly source: string;
  /** When it is gone at the latest, RFC 3339. */
  readonly deletionTimestamp: string;
  /** Nothing of it is left to end. */
  readonly isOver: boolean;
  /** It runs again when it is over. */
  readonly comesBack?: boolean;
  /** Those that it keeps; undefined if it was deleted. */
  readonly claims?: readonly string[];
}

/** All such pods. */
export interface StoppedPodReader {
  list(): readonly ServedStop[];
  /** Lets the pod of that manifest run again. */
  release(manifestUid: string): Promise<boolean>;
}

/** POST …/pods/{name}/start: a stopped pod runs again; answers with what it was, or NotFound. */
export function startPod(nodeName: string, stopped: StoppedPodReader): ApiHandler {
  return async ({ params }) => {
    const { name = '' } = params;
    const found = findStop(stopped.list(), nodeName, params);
    if (found === undefined) throw notFoundError('stopped pods', name);
    await stopped.release(found.manifestUid ?? found.uid);
    return jsonAnswer(toItem(found));
  };
}

/** The stop of the pod with that name, or with that name in its manifest. */
function findStop(
  stops: readonly ServedStop[],
  nodeName: string,
  { namespace = '', name = '' }: ApiRequest['params'],
): ServedStop | undefined {
  const there = stops.filter((stop) => stop.namespace === namespace);
  return (
    there.find((stop) => stop.name === name) ??
    there.find((stop) => stop.name === staticPodName(name, nodeName))
  );
}

/**
 * Finds a pod as `findPod` does. For one that is not there any more because somebody has stopped or deleted it, the
 * NotFound says so, and how it runs again.
 */
export function stopExplainer(
  findPod: (request: Pick<ApiRequest, 'params'>) => PodRow,
  nodeName: string,
  stopped: Pick<StoppedPodReader, 'list'>,
): (request: Pick<ApiRequest, 'params'>) => PodRow {
  return (request) => {
    try {
      return findPod(request);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
      const stop = findStop(stopped.list(), nodeName, request.params);
      if (stop === undefined || stop.comesBack === true) throw error;
      const { namespace = '', name = '' } = request.params;
      const place = namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`;
      const what = stop.claims === undefined ? 'was deleted, and its manifest is still there' : 'is stopped';
      const message = `pod ${JSON.stringify(name)} ${what}; to run it again: podloop start ${name}${place}`;
      throw new ApiError('NotFound', message, error.details);
    }
  };
}

/** GET /stopped: the pods that stay stopped, by namespace and name; those that are still ending are marked. */
export function listStoppedPods(stopped: StoppedPodReader): ApiHandler {
  return () => {
    const items = stopped.list().filter(({ comesBack }) => comesBack !== true);
    const keyOf = ({ namespace, name }: ServedStop): string => `${namespace}/${name}`;
    return jsonAnswer({
      kind: 'StoppedPodList',
      items: items.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1)).map(toItem),
    });
  };
}

function toItem({ uid, namespace, name, source, deletionTimestamp, isOver }: ServedStop): object {
  return { kind: 'StoppedPod', metadata: { uid, namespace, name, deletionTimestamp }, source, isOver };
}
