import { type ApiRequest, type UpgradeHandler } from '../http/api-request.js';
import { type ApiRouter } from '../http/api-router.js';
import { type FindKubeletPod } from './find-kubelet-pod.js';

/** Handlers of Kubernetes' API that a kubelet's paths lead to, too. */
export interface StreamHandlers {
  readonly exec: UpgradeHandler;
  readonly attach: UpgradeHandler;
  readonly portForward: UpgradeHandler;
}

/** With the UID of the pod or without. */
const PODS = ['/:namespace/:name', '/:namespace/:name/:uid'];
/** What a kubelet calls the streams of a container, and what an API server does. */
const STREAMS = { input: 'stdin', output: 'stdout', error: 'stderr' } as const;

/** Adds `/exec`, `/attach` and `/portForward`, as an API server asks a kubelet for what `kubectl` asks of itself. */
export function addKubeletStreams(
  router: ApiRouter,
  { exec, attach, portForward }: StreamHandlers,
  findPod: FindKubeletPod,
): void {
  const add = (path: string, handler: UpgradeHandler, translate: (request: ApiRequest) => ApiRequest): void =>
    router.upgrade(path, async (request) => {
      findPod(request);
      return handler(translate(request));
    });
  for (const pod of PODS) {
    add(`/exec${pod}/:container`, exec, toContainerRequest);
    add(`/attach${pod}/:container`, attach, toContainerRequest);
    add(`/portForward${pod}`, portForward, toPortsRequest);
  }
}

/** Each stream is wanted or not: a kubelet takes none for granted. */
function toContainerRequest(request: ApiRequest): ApiRequest {
  const query = new URLSearchParams(request.query);
  query.set('container', request.params['container'] ?? '');
  for (const [kubelets, own] of Object.entries(STREAMS)) {
    // A kubelet takes `1` and nothing else for yes.
    query.set(own, String(request.query.get(kubelets) === '1'));
  }
  query.set('tty', String(request.query.get('tty') === '1'));
  return { ...request, query };
}

/** Over SPDY the ports stand in each stream; over WebSocket here. */
function toPortsRequest(request: ApiRequest): ApiRequest {
  const query = new URLSearchParams();
  for (const port of request.query.getAll('port')) query.append('ports', port);
  return { ...request, query };
}
