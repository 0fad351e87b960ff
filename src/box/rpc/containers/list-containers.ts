import {
  type Container,
  type ContainerFilter,
  type ListContainersRequest,
  type ListContainersResponse,
} from '#watch/messages';
import { toContainer } from '../../messages.js';
import { matchesLabels } from '../label-selector.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListContainers: those that match every part of the filter that is given. */
export function listContainers(
  context: RpcContext,
  { filter }: ListContainersRequest,
): ListContainersResponse {
  return { containers: selectContainers(context, filter) };
}

/** The list, for the call with one answer and for the stream. */
export function selectContainers({ pods }: RpcContext, filter: ContainerFilter | undefined): Container[] {
  const { id = '', podSandboxId = '', state, labelSelector = {} } = filter ?? {};
  return pods.containers
    .filter((container) => id === '' || container.id === id)
    .filter((container) => podSandboxId === '' || container.record.sandboxId === podSandboxId)
    .filter((container) => state === undefined || container.state === state.state)
    .filter((container) => matchesLabels(container.record.config.labels, labelSelector))
    .map(toContainer);
}
