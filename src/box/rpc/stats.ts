import {
  type ContainerStats,
  type ContainerStatsFilter,
  type ContainerStatsRequest,
  type ContainerStatsResponse,
  type ListContainerStatsRequest,
  type ListContainerStatsResponse,
  type ListMetricDescriptorsRequest,
  type ListMetricDescriptorsResponse,
  type ListPodSandboxMetricsRequest,
  type ListPodSandboxMetricsResponse,
  type ListPodSandboxStatsRequest,
  type ListPodSandboxStatsResponse,
  type PodSandboxStatsFilter,
  type PodSandboxStatsRequest,
  type PodSandboxStatsResponse,
  type StreamContainerStatsRequest,
  type StreamContainerStatsResponse,
  type StreamPodSandboxMetricsRequest,
  type StreamPodSandboxMetricsResponse,
  type StreamPodSandboxStatsRequest,
  type StreamPodSandboxStatsResponse,
} from '#watch/messages';
import { requireId } from './require-id.js';
import { type RpcContext } from './rpc-context.js';
import { type Container } from '../container/container.js';
import { matchesLabels } from '#base/text/matches-labels.js';
import { inPieces } from './adapters.js';
import { describeMetrics, listPodMetrics } from '../stats/pod-metrics.js';
import { type PodOfStats } from '../stats/pod-stats.js';

/** CRI ContainerStats: what one container uses. */
export async function containerStats(
  { pods, stats }: RpcContext,
  { containerId }: ContainerStatsRequest,
): Promise<ContainerStatsResponse> {
  const container = pods.getContainer(requireId('container', containerId));
  const [answer] = await stats.ofContainers([container]);
  return { stats: answer };
}

/** CRI ListContainerStats: of those that match every part of the filter that is given, running or not. */
export async function listContainerStats(
  context: RpcContext,
  { filter }: ListContainerStatsRequest,
): Promise<ListContainerStatsResponse> {
  return { stats: await collectContainerStats(context, filter) };
}

/** The list, for the call with one answer and for the stream. */
function collectContainerStats(
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

/** CRI ListMetricDescriptors: every metric that ListPodSandboxMetrics may give. */
export function listMetricDescriptors(
  { cgroups }: RpcContext,
  _request: ListMetricDescriptorsRequest,
): ListMetricDescriptorsResponse {
  return { descriptors: describeMetrics(cgroups.version) };
}

/** CRI ListPodSandboxMetrics: of every pod. */
export async function listPodSandboxMetrics(
  context: RpcContext,
  _request: ListPodSandboxMetricsRequest,
): Promise<ListPodSandboxMetricsResponse> {
  return { podMetrics: await listPodMetrics(context, selectPods(context, undefined)) };
}

/** CRI ListPodSandboxStats: of those that match every part of the filter that is given, with their containers. */
export async function listPodSandboxStats(
  context: RpcContext,
  { filter }: ListPodSandboxStatsRequest,
): Promise<ListPodSandboxStatsResponse> {
  return { stats: await context.stats.ofPods(selectPods(context, filter)) };
}

/** The sandboxes of the list with their containers, for every call about many. */
function selectPods({ pods }: RpcContext, filter: PodSandboxStatsFilter | undefined): PodOfStats[] {
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

/** CRI PodSandboxStats: what one pod uses, its network, and its containers. */
export async function podSandboxStats(
  { pods, stats }: RpcContext,
  { podSandboxId }: PodSandboxStatsRequest,
): Promise<PodSandboxStatsResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  const [answer] = await stats.ofPods([{ sandbox, containers: pods.containersOf(sandbox.id) }]);
  return { stats: answer };
}

/** CRI StreamContainerStats: the list in pieces, so that its size has no limit. */
export async function* streamContainerStats(
  context: RpcContext,
  { filter }: StreamContainerStatsRequest,
): AsyncGenerator<StreamContainerStatsResponse> {
  const stats = await collectContainerStats(context, filter);
  for (const containerStats of inPieces(stats)) yield { containerStats };
}

/** Sixty metrics with their labels are some 20 kB for each container. */
const PODS_IN_PIECE = 20;

/** CRI StreamPodSandboxMetrics: the list in pieces, so that its size has no limit. */
export async function* streamPodSandboxMetrics(
  context: RpcContext,
  _request: StreamPodSandboxMetricsRequest,
): AsyncGenerator<StreamPodSandboxMetricsResponse> {
  for (const pods of inPieces(selectPods(context, undefined), PODS_IN_PIECE)) {
    yield { podSandboxMetrics: await listPodMetrics(context, pods) };
  }
}

/** CRI StreamPodSandboxStats: the list in pieces, so that its size has no limit. */
export async function* streamPodSandboxStats(
  context: RpcContext,
  { filter }: StreamPodSandboxStatsRequest,
): AsyncGenerator<StreamPodSandboxStatsResponse> {
  const stats = await context.stats.ofPods(selectPods(context, filter));
  for (const podSandboxStats of inPieces(stats)) yield { podSandboxStats };
}
