import { StatusResponse, type StatusRequest } from '../../cri/generated/runtime/v1/cri.js';
import { READER_QUEUE_CAPACITY } from '../event-hub.js';
import { HOST_IMAGE } from '../images/host-image.js';
import { type RpcContext } from './rpc-context.js';

/** What people are told about the walls between containers, at start and in Status. */
export const ISOLATION_NOTICE =
  'containers are process groups of this host: they share its files, network, processes and users; nothing limits their CPU or memory';

/** CRI Status: ready since it answers; a third condition says what isolation there is not. */
export function status(context: RpcContext, { verbose }: StatusRequest): StatusResponse {
  return StatusResponse.fromPartial({
    status: {
      conditions: [
        { type: 'RuntimeReady', status: true },
        { type: 'NetworkReady', status: true },
        { type: 'Isolation', status: false, reason: 'HostProcesses', message: ISOLATION_NOTICE },
      ],
    },
    runtimeHandlers: [{ name: '', features: {} }],
    features: {},
    info: verbose ? { config: JSON.stringify(describe(context)) } : {},
  });
}

function describe({ hub, pods, rootDir, version }: RpcContext): object {
  return {
    version,
    rootDir,
    isolation: 'none',
    network: 'host',
    images: [HOST_IMAGE],
    sandboxes: pods.sandboxes.length,
    containers: pods.containers.length,
    eventReaders: hub.readers,
    eventReadersDropped: hub.droppedReaders,
    eventReaderQueue: READER_QUEUE_CAPACITY,
  };
}
