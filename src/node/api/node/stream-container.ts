import { type PodRef } from '#kube/pod/pod-ref.js';
import { hasCode, messageOf } from '#base/errors/errors.js';
import { ApiError, badRequest, invalidError, notFoundError } from '../http/api-error.js';
import { type ApiRequest, isTrue, type UpgradeHandler, type UpgradeTarget } from '../http/api-request.js';
import { chooseContainer, containerIdOf, findContainerStatus } from '../objects/choose-container.js';
import { type PodRow } from '../objects/pod-table.js';
import { type ServedPod } from '../objects/served-pod.js';

/** The wanted streams of a container. */
export interface StreamChoice {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A connection to a container. */
export interface ContainerStream extends StreamChoice {
  readonly pod: PodRef;
  readonly containerId: string;
}

/** Gets streams from the runtime: each call returns a URL for one use. Rejects with CRI_…. */
export interface RuntimeStreams {
  exec(
    stream: ContainerStream & { readonly command: readonly string[] },
    signal: AbortSignal,
  ): Promise<string>;
  attach(stream: ContainerStream, signal: AbortSignal): Promise<string>;
  /** Rejects with CRI_NOT_FOUND when the pod has no ready sandbox. */
  portForward(pod: PodRef, ports: readonly number[], signal: AbortSignal): Promise<string>;
}

/** What exec, attach and port-forward need. */
export interface StreamContainerOptions {
  readonly streams: RuntimeStreams;
  readonly findPod: (request: ApiRequest) => PodRow;
}

/** …/pods/{name}/exec: runs a command in a running container. */
export function execInContainer({ streams, findPod }: StreamContainerOptions): UpgradeHandler {
  return async (request) => {
    const { served } = findPod(request);
    const command = request.query.getAll('command');
    if (command.length === 0) {
      const cause = { reason: 'FieldValueRequired', message: 'Required value', field: 'command' };
      throw invalidError('PodExecOptions', '', [cause]);
    }
    const { name, stream } = findStream(served, request.query);
    return toTarget(notRunning(name), async () => streams.exec({ ...stream, command }, request.signal));
  };
}

/** …/pods/{name}/attach: joins the streams of a container's process. */
export function attachToContainer({ streams, findPod }: StreamContainerOptions): UpgradeHandler {
  return async (request) => {
    const { name, stream } = findStream(findPod(request).served, request.query);
    return toTarget(notRunning(name), async () => streams.attach(stream, request.signal));
  };
}

/** …/pods/{name}/portforward. */
export function forwardPorts({ streams, findPod }: StreamContainerOptions): UpgradeHandler {
  return async (request) => {
    const { pod, status } = findPod(request).served;
    const { name } = pod.metadata;
    const ports = request.query
      .getAll('ports')
      .flatMap((text) => text.split(','))
      .filter((text) => text !== '')
      .map(toPort);
    if (status.phase !== 'Running') {
      throw badRequest(`unable to forward port because pod is not running. Current status=${status.phase}`);
    }
    const gone = notFoundError('pods', name);
    return toTarget(gone, async () => streams.portForward(pod.metadata, ports, request.signal));
  };
}

function findStream(
  served: ServedPod,
  query: URLSearchParams,
): { readonly name: string; readonly stream: ContainerStream } {
  const name = chooseContainer(served, query.get('container') ?? '');
  const { containerID, state } = findContainerStatus(served.status, name) ?? {};
  if (containerID === undefined || state?.running === undefined) throw notRunning(name);
  const { uid, namespace, name: podName } = served.pod.metadata;
  const pod = { uid, namespace, name: podName };
  return { name, stream: { pod, containerId: containerIdOf(containerID), ...readChoice(query) } };
}

/** Default: standard output and error; a terminal has one output for both. */
function readChoice(query: URLSearchParams): StreamChoice {
  const tty = isTrue(query, 'tty');
  const isTold = ['stdin', 'stdout', 'stderr'].some((name) => query.has(name));
  const choice = {
    stdin: isTrue(query, 'stdin'),
    stdout: !isTold || isTrue(query, 'stdout'),
    stderr: (!isTold || isTrue(query, 'stderr')) && !tty,
    tty,
  };
  if (choice.stdin || choice.stdout || choice.stderr) return choice;
  throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
}

function toPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw badRequest(`unable to parse ${JSON.stringify(text)} as a port`);
}

async function toTarget(gone: ApiError, ask: () => Promise<string>): Promise<UpgradeTarget> {
  try {
    return { url: new URL(await ask()) };
  } catch (error) {
    // It has just ended.
    if (hasCode(error, 'CRI_NOT_FOUND')) throw gone;
    if (hasCode(error, 'CRI_UNIMPLEMENTED')) throw new ApiError('MethodNotAllowed', messageOf(error));
    throw error;
  }
}

function notRunning(name: string): ApiError {
  return new ApiError('NotFound', `container not found (${JSON.stringify(name)})`);
}
