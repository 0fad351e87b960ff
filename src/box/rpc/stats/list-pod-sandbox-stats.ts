import {
  type ListPodSandboxStatsRequest,
  type ListPodSandboxStatsResponse,
  type PodSandboxStatsFilter,
} from '#watch/messages';
import { type PodOfStats } from '../../stats/pod-stats.js';
import { type Container } from '../../container/container.js';
import { matchesLabels } from '../label-selector.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListPodSandboxStats: of those that match every part of the filter that is given, with their containers. */
export async function listPodSandboxStats(
  context: RpcContext,
  { filter }: ListPodSandboxStatsRequest,
): Promise<ListPodSandboxStatsResponse> {
  return { stats: await context.stats.ofPods(selectPods(context, filter)) };
}

/** The sandboxes of the list with their containers, for every call about many. */
export function selectPods({ pods }: RpcContext, filter: PodSandboxStatsFilter | undefined): PodOfStats[] {
  const { id = '', labelSelector = {} } = filter ?? {};
  const containersOf = new Map<string, Container[]>();
  for (const container of pods.containers) {
    const { sandboxId } = container.record;
    const known = containersOf.get(sandboxId);
    if (known === undefined) containersOf.set(sandboxId, [container]);
    else known.push(container);
  }
  return pods.sandboxes
    .filter((sandbox) => id === '' || sandbox.id === id)
    .filter((sandbox) => matchesLabels(sandbox.config.labels, labelSelector))
    .map((sandbox) => ({ sandbox, containers: containersOf.get(sandbox.id) ?? [] }));
}
