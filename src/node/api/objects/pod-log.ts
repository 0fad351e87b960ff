import { relative, sep } from 'node:path';
import { type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { type Clock } from '#base/time/clock.js';
import { badRequest } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest, isTrue } from '../http/api-request.js';
import { chooseContainer, containerIdOf, findContainerStatus } from './choose-container.js';
import { LogChanges } from '../logs/log-changes.js';
import { LogFolder } from '../logs/log-folder.js';
import { readLogOptions, type WantedLog } from '../logs/read-log-options.js';
import { readLog } from '../logs/read-log.js';
import { type PodRow } from './pod-table.js';
import { type ServedPod } from './served-pod.js';
import { type WatchPlaces } from '../http/watch-answer.js';

/** Finds the logs of containers. */
export interface ContainerLogs {
  /** Folder of the logs of all pods. */
  readonly podLogsDir: string;
  /** Undefined for a container that the runtime does not have (any more). */
  find(podUid: string, containerId: string): ContainerLog | undefined;
}

/** The log of one container. */
export interface ContainerLog {
  /** Absolute path; empty when there is none. */
  readonly logPath: string;
  /** Something may still be written to it. */
  readonly isWritten: boolean;
}

/** What {@link readPodLog} needs. */
export interface PodLogOptions {
  readonly clock: Clock;
  readonly logs: ContainerLogs;
  readonly findPod: (request: ApiRequest) => PodRow;
  /** For logs that are followed. */
  readonly places: WatchPlaces;
}

const MISSING_LOOK_MS = 200;

/** GET …/pods/{name}/log: the output of a container. */
export function readPodLog(options: PodLogOptions): ApiHandler {
  return (request) => {
    const { served } = options.findPod(request);
    const { query } = request;
    const wanted = readLogOptions(query, options.clock.now());
    const container = chooseContainer(served, query.get('container') ?? '');
    const status = findContainerStatus(served.status, container);
    const id = findLoggedContainer(served, container, status, isTrue(query, 'previous'));
    const place = findPlace(options.logs, served, container, id, status?.restartCount ?? 0);
    const isFollowed = isTrue(query, 'follow');
    return {
      ...{ kind: 'stream', contentType: 'text/plain; charset=utf-8', abortCutsOff: !isFollowed },
      pieces: piecesOf(options, request, { ...wanted, ...place, isFollowed }),
    };
  };
}

interface LogPlace {
  /** Folders below the folder of all logs. */
  readonly path: readonly string[];
  /** `0.log`. */
  readonly name: string;
  readonly isWritten: () => boolean;
}

async function* piecesOf(
  { clock, logs, places }: PodLogOptions,
  { signal }: ApiRequest,
  {
    selection,
    tailLines,
    path,
    name,
    isWritten,
    isFollowed,
  }: WantedLog & LogPlace & { readonly isFollowed: boolean },
): AsyncGenerator<Uint8Array | string, void, undefined> {
  const leave = isFollowed ? places.take() : undefined;
  let folder: LogFolder | undefined;
  try {
    folder = await LogFolder.open(logs.podLogsDir, path);
    // A follower starts before the first line, and may already be gone then.
    if (isFollowed) yield '';
    while (folder === undefined && isFollowed && isWritten() && !signal.aborted) {
      await clock.sleep(MISSING_LOOK_MS, signal).catch(() => undefined);
      folder = await LogFolder.open(logs.podLogsDir, path);
    }
    if (folder === undefined) return;
    using changes = isFollowed ? new LogChanges(folder.path, clock) : undefined;
    const follow = changes === undefined ? undefined : { changes, isWritten };
    yield* readLog({ folder, name, selection, tailLines, follow, signal });
  } finally {
    leave?.();
    await folder?.[Symbol.asyncDispose]();
  }
}

/**
 * The id of the container whose log is wanted: the running or last one, or with `previous` the one before.
 *
 * Throws BadRequest in the kubelet's words when there is none.
 */
function findLoggedContainer(
  { pod }: ServedPod,
  container: string,
  status: V1ContainerStatus | undefined,
  isPrevious: boolean,
): string {
  const which = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name)}`;
  if (status === undefined) throw badRequest(`${which} is not available`);
  const { state, lastState, containerID } = status;
  const before = lastState.terminated?.containerID;
  if (isPrevious) {
    if (before !== undefined) return containerIdOf(before);
    throw badRequest(
      `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name)} not found`,
    );
  }
  const now = state.terminated?.containerID ?? (state.waiting === undefined ? containerID : undefined);
  const id = now ?? before ?? containerID;
  if (id !== undefined) return containerIdOf(id);
  throw badRequest(`${which} is waiting to start${whyWaiting(state.waiting?.reason)}`);
}

function whyWaiting(reason: string | undefined): string {
  switch (reason) {
    case undefined:
      return ' - no logs yet';
    case 'ErrImagePull':
      return ": image can't be pulled";
    case 'ImagePullBackOff':
      return ': trying and failing to pull image';
    default:
      return `: ${reason}`;
  }
}

/** The place of its log: as the runtime reports, or by its usual name if the runtime has forgotten it. */
function findPlace(
  logs: ContainerLogs,
  { pod: { metadata } }: ServedPod,
  container: string,
  id: string,
  restartCount: number,
): LogPlace {
  const { uid, namespace, name } = metadata;
  const podFolder = `${namespace}_${name}_${uid}`;
  const known = logs.find(uid, id);
  const isWritten = (): boolean => logs.find(uid, id)?.isWritten ?? false;
  if (known === undefined || known.logPath === '') {
    return { path: [podFolder, container], name: `${restartCount}.log`, isWritten };
  }
  const parts = relative(logs.podLogsDir, known.logPath).split(sep);
  const file = parts.pop()!;
  if (parts.length !== 2 || parts[0] !== podFolder) {
    throw badRequest(`the log of container ${JSON.stringify(container)} is not in the folder of its pod`);
  }
  return { path: parts, name: file, isWritten };
}
