import {
  type ListPodSandboxRequest,
  type ListPodSandboxResponse,
  type PodSandbox,
  type PodSandboxFilter,
} from '#watch/messages';
import { toPodSandbox } from '../../messages.js';
import { matchesLabels } from '../label-selector.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListPodSandbox: those that match every part of the filter that is given. */
export function listPodSandbox(
  context: RpcContext,
  { filter }: ListPodSandboxRequest,
): ListPodSandboxResponse {
  return { items: selectSandboxes(context, filter) };
}

/** The list, for the call with one answer and for the stream. */
export function selectSandboxes({ pods }: RpcContext, filter: PodSandboxFilter | undefined): PodSandbox[] {
  const { id = '', state, labelSelector = {} } = filter ?? {};
  return pods.sandboxes
    .filter((sandbox) => id === '' || sandbox.id === id)
    .filter((sandbox) => state === undefined || sandbox.state === state.state)
    .filter((sandbox) => matchesLabels(sandbox.config.labels, labelSelector))
    .map(toPodSandbox);
}
