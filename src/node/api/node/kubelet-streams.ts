import { type ApiRequest, type UpgradeHandler } from '../http/api-request.js';
import { type ApiRouter } from '../http/api-router.js';
import { type FindKubeletPod } from './find-kubelet-pod.js';

/** Handlers of Kubernetes' API that also serve a kubelet's paths. */
export interface StreamHandlers {
  readonly exec: UpgradeHandler;
  readonly attach: UpgradeHandler;
  readonly portForward: UpgradeHandler;
}

/** With the UID of the pod or without. */
const PODS = ['/:namespace/:name', '/:namespace/:name/:uid'];
/** A kubelet's and an API server's names of a container's streams. */
const STREAMS = { input: 'stdin', output: 'stdout', error: 'stderr' } as const;

/** Adds `/exec`, `/attach` and `/portForward`, through which an API server passes on `kubectl`'s requests. */
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

/** Sets each stream explicitly: a kubelet has no default. */
function toContainerRequest(request: ApiRequest): ApiRequest {
  const query = new URLSearchParams(request.query);
  query.set('container', request.params['container'] ?? '');
  for (const [kubelets, own] of Object.entries(STREAMS)) {
    // A kubelet only accepts `1` for yes.
    query.set(own, String(request.query.get(kubelets) === '1'));
  }
  query.set('tty', String(request.query.get('tty') === '1'));
  return { ...request, query };
}

/** With SPDY the ports are in each stream; with WebSocket here. */
function toPortsRequest(request: ApiRequest): ApiRequest {
  const query = new URLSearchParams();
  for (const port of request.query.getAll('port')) query.append('ports', port);
  return { ...request, query };
}
