import { type NamespaceConnector } from '../network/namespace-connector.js';
import { type PodRegistry } from '../pods/pod-registry.js';
import { refused } from '../rpc-error.js';
import { type StreamingPorts } from './streaming-ports.js';

/** What the streaming server needs, as the runtime's pods give it. */
export function streamsOf(
  pods: Pick<PodRegistry, 'getContainer' | 'getSandbox'>,
  connector: Pick<NamespaceConnector, 'connect'>,
): StreamingPorts {
  return {
    // Async, so that a refusal of the registry is a rejection, too.
    openProcess: async (id, request) => pods.getContainer(id).openProcess(request),
    openConsole: async (id) => pods.getContainer(id).openConsole(),
    connectPort: async (id, port, attempt) => {
      const { takesContainers, record, holderPid } = pods.getSandbox(id);
      // Asked for each connection. Without its holder a sandbox's network is gone: it must not become the host's.
      if (!takesContainers || (record.ownNetwork && holderPid === undefined)) {
        throw refused('the sandbox has ended');
      }
      return connector.connect(record.ownNetwork ? holderPid : undefined, port, attempt);
    },
  };
}
