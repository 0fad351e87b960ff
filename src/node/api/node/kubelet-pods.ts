import { ApiError } from '../http/api-error.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';
import { containerNamesOf } from '../objects/choose-container.js';
import { type FindKubeletPod } from './find-kubelet-pod.js';

/** A pod as the runtime has it, whoever it belongs to. */
export interface RunningPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Those that run. */
  readonly containers: readonly { readonly name: string; readonly image: string }[];
}

/** GET /pods: every pod of this node, as `GET /api/v1/pods` lists them, but that nothing can be selected or watched. */
export function listAllPods(list: ApiHandler): ApiHandler {
  return (request) => list({ ...request, params: {}, query: new URLSearchParams(), headers: {} });
}

/** GET /runningpods/: what runs, as the runtime has it and not as it is wanted. */
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
 * GET /containerLogs/{namespace}/{pod}/{container}: what it has written, with the options of `kubectl logs`. Words as a
 * kubelet's for what there is not; `tail` is an old name of `tailLines`, of which `all` means none.
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
