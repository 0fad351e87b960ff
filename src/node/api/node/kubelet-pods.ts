import { ApiError } from '../http/api-error.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';
import { containerNamesOf } from '../objects/choose-container.js';
import { type FindKubeletPod } from './find-kubelet-pod.js';

/** A pod in the runtime, whoever owns it. */
export interface RunningPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** The running ones. */
  readonly containers: readonly { readonly name: string; readonly image: string }[];
}

/** GET /pods: every pod of this node, as `GET /api/v1/pods` lists them, but without selectors and watches. */
export function listAllPods(list: ApiHandler): ApiHandler {
  return (request) => list({ ...request, params: {}, query: new URLSearchParams(), headers: {} });
}

/** GET /runningpods/: what runs according to the runtime, not what is wanted. */
export function listRunningPods(read: () => readonly RunningPod[]): ApiHandler {
  return () =>
    jsonAnswer({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: read().map((pod) => render(pod)) });
}

function render({ uid, namespace, name, containers }: RunningPod): object {
  return {
    metadata: { name, namespace, uid, creationTimestamp: null },
    spec: { containers: containers.map((container) => ({ ...container, resources: {} })) },
    status: {},
  };
}

/**
 * GET /containerLogs/{namespace}/{pod}/{container}: its output, with the options of `kubectl logs`.
 *
 * Missing objects give a kubelet's words; `tail` is an old name of `tailLines`, and `all` means no limit.
 */
export function readContainerLog(readLog: ApiHandler, findPod: FindKubeletPod): ApiHandler {
  return async (request) => {
    const { name = '', container = '' } = request.params;
    const pod = JSON.stringify(name);
    const served = findPod(request, `pod ${pod} does not exist`);
    if (!containerNamesOf(served).includes(container)) {
      throw new ApiError('NotFound', `container ${JSON.stringify(container)} not found in pod ${pod}`);
    }
    const query = new URLSearchParams(request.query);
    query.set('container', container);
    const tail = query.get('tail') ?? '';
    if (tail !== '') query.set('tailLines', tail);
    if (tail === 'all') query.delete('tailLines');
    return readLog({ ...request, query });
  };
}
