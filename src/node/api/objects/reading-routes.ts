import { type Clock } from '#base/time/clock.js';
import { type ApiHandler, type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { type ApiRouter } from '../http/api-router.js';
import { MAX_FOLLOWED_LOGS, MAX_WATCHES } from '../http/server-bounds.js';
import { WatchPlaces } from '../http/watch-answer.js';
import { journalEvents, type ServedJournal } from './journal-events.js';
import { getPod, listPods, podFinder } from './list-pods.js';
import { type ContainerLogs, readPodLog } from './pod-log.js';
import { type PodRow, type PodTable } from './pod-table.js';

/** What can be read of the pods of a node. */
export interface ReadingPorts {
  readonly clock: Clock;
  readonly pods: PodTable;
  readonly logs: ContainerLogs;
  /** The history of the node. */
  readonly journal: ServedJournal;
  /** podloop's. */
  readonly version: string;
  /** Finds the pod of a path (default: by its name among `pods`). */
  readonly findPod?: FindPod;
}

type FindPod = (request: Pick<ApiRequest, 'params'>) => PodRow;

/** Handlers that other paths serve as well. */
export interface ReadingHandlers {
  readonly listPods: ApiHandler;
  readonly getPod: ApiHandler;
  readonly readLog: ApiHandler;
  readonly findPod: FindPod;
}

const PODS = '/api/v1/namespaces/:namespace/pods';

/** Adds the paths of pods, their logs and the history: they change nothing. */
export function addReadingRoutes(router: ApiRouter, ports: ReadingPorts): ReadingHandlers {
  const { clock, pods: table, logs, journal, version, findPod = podFinder(table) } = ports;
  const watches = new WatchPlaces({ clock, limit: MAX_WATCHES });
  const followers = new WatchPlaces({ clock, limit: MAX_FOLLOWED_LOGS, what: 'followed logs' });
  const list = listPods({ table, watches });
  const readLog = readPodLog({ clock, findPod, logs, places: followers });
  const get = getPod(findPod, clock);
  router.answer('GET', '/version', () => jsonAnswer({ gitVersion: `podloop v${version}` }));
  router.answer('GET', '/api/v1/pods', list);
  router.answer('GET', PODS, list);
  router.answer('GET', `${PODS}/:name`, get);
  router.answer('GET', `${PODS}/:name/log`, readLog);
  router.answer('GET', '/events', journalEvents({ clock, journal, places: watches }));
  return { listPods: list, getPod: get, readLog, findPod };
}
