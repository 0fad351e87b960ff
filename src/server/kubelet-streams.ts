import { type ApiRequest, type UpgradeHandler } from './api-request.js';
import { type ApiRouter } from './api-router.js';

/** Handlers of Kubernetes' API that a kubelet's paths lead to, too. */
export interface StreamHandlers {
  readonly exec: UpgradeHandler;
  readonly attach: UpgradeHandler;
  readonly portForward: UpgradeHandler;
}

const CONTAINER = '/:namespace/:name/:container';
/** What a kubelet calls the streams of a container, and what an API server does. */
const STREAMS = { input: 'stdin', output: 'stdout', error: 'stderr' } as const;

/** Adds `/exec`, `/attach` and `/portForward`, as an API server asks a kubelet for what `kubectl` asks of itself. */
export function addKubeletStreams(router: ApiRouter, { exec, attach, portForward }: StreamHandlers): void {
  router.upgrade(`/exec${CONTAINER}`, async (request) => exec(toContainerRequest(request)));
  router.upgrade(`/attach${CONTAINER}`, async (request) => attach(toContainerRequest(request)));
  router.upgrade('/portForward/:namespace/:name', async (request) => portForward(toPortsRequest(request)));
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
