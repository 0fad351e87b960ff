import { type PodRef } from '#kube/pod/pod-ref.js';
import { messageOf } from '#base/errors/errors.js';
import { ApiError } from '../http/api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest } from '../http/api-request.js';
import { containerIdOf, containerNamesOf, findContainerStatus } from './choose-container.js';
import { type FindKubeletPod } from '../node/find-kubelet-pod.js';
import { type ServedPod } from './served-pod.js';

/** A running container. */
export interface RunningContainer {
  readonly pod: PodRef;
  readonly name: string;
  readonly id: string;
}

/** Actions on a container by one request. Both reject with the runtime's own message. */
export interface ContainerActions {
  /** Runs a command, for any time. */
  run(
    container: RunningContainer,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array; readonly exitCode: number }>;
  /**
   * Stores the state of a container in a file, and returns its path. Runs to its end once begun.
   *
   * `timeoutSeconds`: 0 for the default.
   */
  checkpoint(container: RunningContainer, timeoutSeconds: number): Promise<string>;
}

/** What the handlers here need. */
export interface ContainerActionsOptions {
  readonly actions: ContainerActions;
  readonly findPod: FindKubeletPod;
}

/**
 * POST /run/{namespace}/{pod}/{container}: runs the words of `cmd`, split at single spaces.
 *
 * Answers with the output: standard output, then standard error. A command that fails gives 500 with its exit
 * code.
 */
export function runInContainer({ actions, findPod }: ContainerActionsOptions): ApiHandler {
  return async (request) => {
    const { container = '' } = request.params;
    const found = findRunning(findPod(request), container);
    if (found === undefined) return failure(`container not found (${JSON.stringify(container)})`);
    const command = (request.query.get('cmd') ?? '').split(' ');
    try {
      const { stdout, stderr, exitCode } = await actions.run(found, command, request.signal);
      if (exitCode === 0) return printed(Buffer.concat([stdout, stderr]));
      return failure(
        `command '${command.join(' ')}' exited with ${exitCode}: ${Buffer.from(stderr).toString()}`,
      );
    } catch (error) {
      return failure(messageOf(error));
    }
  };
}

/** POST /checkpoint/{namespace}/{pod}/{container}: answers with the path of the container's stored state. */
export function checkpointContainer({ actions, findPod }: ContainerActionsOptions): ApiHandler {
  return async (request) => {
    const { namespace = '', name = '', container = '' } = request.params;
    const served = findPod(request);
    if (!containerNamesOf(served).includes(container)) {
      throw new ApiError('NotFound', `container ${container} does not exist`);
    }
    const timeoutSeconds = readTimeout(request);
    try {
      const found = findRunning(served, container);
      if (found === undefined) throw new Error(`container ${container} not found`);
      if (timeoutSeconds < 0) throw new Error('CheckpointContainer requires the timeout value to be > 0');
      const file = await actions.checkpoint(found, timeoutSeconds);
      return { kind: 'json', body: { items: [file] } };
    } catch (error) {
      return failure(`checkpointing of ${namespace}/${name}/${container} failed (${messageOf(error)})`);
    }
  };
}

function findRunning({ pod, status }: ServedPod, name: string): RunningContainer | undefined {
  const { containerID, state } = findContainerStatus(status, name) ?? {};
  if (containerID === undefined || state?.running === undefined) return undefined;
  const { uid, namespace, name: podName } = pod.metadata;
  return { pod: { uid, namespace, name: podName }, name, id: containerIdOf(containerID) };
}

/** The last given one wins. An invalid number gives 404, as with a kubelet. */
function readTimeout({ query }: ApiRequest): number {
  const text = query.getAll('timeout').at(-1) ?? '0';
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    throw new ApiError('NotFound', 'cannot parse value of timeout parameter');
  }
  return Number(text);
}

/** Output of a command may be anything, and no browser should interpret it. */
function printed(body: Uint8Array): ApiAnswer {
  return {
    kind: 'bytes',
    contentType: 'application/json',
    headers: { 'X-Content-Type-Options': 'nosniff' },
    body,
  };
}

/** This is no failure of the agent, and nothing of it is logged: a command's output may be secret. */
function failure(words: string): ApiAnswer {
  return {
    ...{ kind: 'text', code: 500, body: `${words}\n` },
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
}
