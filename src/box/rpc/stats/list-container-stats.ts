import {
  type ContainerStats,
  type ContainerStatsFilter,
  type ListContainerStatsRequest,
  type ListContainerStatsResponse,
} from '#watch/messages';
import { type Container } from '../../container/container.js';
import { matchesLabels } from '../label-selector.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListContainerStats: of those that match every part of the filter that is given, running or not. */
export async function listContainerStats(
  context: RpcContext,
  { filter }: ListContainerStatsRequest,
): Promise<ListContainerStatsResponse> {
  return { stats: await collectContainerStats(context, filter) };
}

/** The list, for the call with one answer and for the stream. */
export function collectContainerStats(
  { pods, stats }: RpcContext,
  filter: ContainerStatsFilter | undefined,
): Promise<ContainerStats[]> {
  return stats.ofContainers(pods.containers.filter((container) => matches(container, filter)));
}

function matches({ id, record }: Container, filter: ContainerStatsFilter | undefined): boolean {
  if (filter === undefined) return true;
  return (
    (filter.id === '' || filter.id === id) &&
    (filter.podSandboxId === '' || filter.podSandboxId === record.sandboxId) &&
    matchesLabels(record.config.labels, filter.labelSelector)
  );
}
