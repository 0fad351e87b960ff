import { type ForwardableSandbox, type StreamableContainer } from '../isolation/container-process.js';
import { connectInside } from '../network/namespace-connector.js';
import { refused } from '../rpc-error.js';
import { type StreamingPorts } from './streaming-ports.js';

/** Where containers and sandboxes are found by their whole ids; unknown ones are refused. */
export interface StreamablePods {
  getContainer(id: string): StreamableContainer;
  getSandbox(id: string): ForwardableSandbox & { readonly takesContainers: boolean };
}

/** What the streaming server needs, as the runtime's pods give it. */
export function streamsOf(pods: StreamablePods): StreamingPorts {
  return {
    // Async, so that a refusal of the registry is a rejection, too.
    openProcess: async (id, request) => pods.getContainer(id).openProcess(request),
    openConsole: async (id) => pods.getContainer(id).openConsole(),
    connectPort: async (id, port, signal) => {
      const sandbox = pods.getSandbox(id);
      // Asked for each connection: the process that held its network may have ended, and its number be another's.
      if (!sandbox.takesContainers) throw refused('the sandbox has ended');
      return connectInside(sandbox.holderPid, port, signal);
    },
  };
}
