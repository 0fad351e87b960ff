import {
  type ContainerMetrics,
  type LinuxContainerResources,
  type Metric,
  type MetricDescriptor,
  MetricType,
  type PodSandboxMetrics,
} from '#watch/messages';
import { type NanoClock } from '../nano-clock.js';
import { type Sandbox } from '../pods/sandbox.js';
import { COMMON_LABELS, type UsageMetric } from '#base/proc/usage/usage-metric.js';
import {
  CONTAINER_METRICS,
  type ContainerFacts,
  NETWORK_METRICS,
} from '#base/proc/usage/container-metrics.js';
import { type DiskFacts, findDisk } from '#base/proc/usage/disk-facts.js';
import { type UsageLimits } from '#base/proc/usage/usage-limits.js';
import { type MeasuredContainer, type PodOfStats, type PodStats, splitByPod } from './pod-stats.js';
import { countOpenFiles, findOpenFileLimit } from '#base/proc/usage/process-usage.js';

/** What {@link listPodMetrics} needs. */
export interface PodMetricsOptions {
  readonly stats: PodStats;
  readonly time: NanoClock;
  readonly rootDir: string;
}

/** CRI's descriptors of all metrics that there may be on a machine with that version of cgroups. */
export function describeMetrics(cgroupVersion: 1 | 2): MetricDescriptor[] {
  const rows: readonly Pick<UsageMetric<never>, 'name' | 'help' | 'labels' | 'cgroupVersion'>[] = [
    ...CONTAINER_METRICS,
    ...NETWORK_METRICS,
  ];
  return rows
    .filter((row) => (row.cgroupVersion ?? cgroupVersion) === cgroupVersion)
    .map(({ name, help, labels }) => ({ name, help, labelKeys: [...COMMON_LABELS, ...labels] }));
}

/** CRI's metrics of pods: the network of each, and the rest for each container that runs. */
export async function listPodMetrics(
  { stats, time, rootDir }: PodMetricsOptions,
  pods: readonly PodOfStats[],
): Promise<PodSandboxMetrics[]> {
  const containers = pods.flatMap((pod) => pod.containers);
  const measured = await stats.measure(containers, 'metrics');
  const disk = await findDisk(rootDir);
  const answers: PodSandboxMetrics[] = [];
  for (const { sandbox, measured: own } of splitByPod(pods, measured)) {
    const timestamp = time.now();
    const labels = commonLabels(sandbox, undefined);
    const network = stats.networkOf(sandbox);
    const containerMetrics: ContainerMetrics[] = [];
    for (const each of own) {
      const facts = await toFacts(each, disk, timestamp, stats.startLimit());
      if (facts === undefined) continue;
      const metrics = toMetrics(CONTAINER_METRICS, facts, commonLabels(sandbox, each), timestamp);
      containerMetrics.push({ containerId: each.container.id, metrics });
    }
    answers.push({
      podSandboxId: sandbox.id,
      metrics: toMetrics(NETWORK_METRICS, network, labels, timestamp),
      containerMetrics,
    });
  }
  return answers;
}

const METRIC_TYPES = { counter: MetricType.COUNTER, gauge: MetricType.GAUGE } as const;

function toMetrics<F>(
  rows: readonly UsageMetric<F>[],
  facts: F,
  common: readonly string[],
  timestamp: bigint,
): Metric[] {
  return rows.flatMap(({ name, type, divisor, read }) =>
    read(facts).flatMap(({ value, labels }) =>
      value === undefined
        ? []
        : [
            {
              ...{ name, timestamp, metricType: METRIC_TYPES[type] },
              labelValues: [...common, ...labels],
              // CRI's metrics are whole numbers: times in seconds are cut to whole seconds.
              value: { value: value / divisor },
            },
          ],
    ),
  );
}

/** In the order of {@link COMMON_LABELS}. */
function commonLabels(sandbox: Sandbox, measured: MeasuredContainer | undefined): string[] {
  const { namespace = '', name: pod = '' } = sandbox.config.metadata ?? {};
  if (measured === undefined) return ['', sandbox.id, '', sandbox.record.name, namespace, pod];
  const { config, id, name } = measured.container.record;
  return [config.metadata?.name ?? '', id, config.image?.image ?? '', name, namespace, pod];
}

async function toFacts(
  { container, usage, pids = [], writable }: MeasuredContainer,
  disk: DiskFacts | undefined,
  seenAtNs: bigint,
  isOver: () => boolean,
): Promise<ContainerFacts | undefined> {
  if (usage === undefined) return undefined;
  return {
    usage,
    limits: toLimits(container.resources),
    openFiles: await countOpenFiles(pids, isOver),
    openFileLimit: findOpenFileLimit(container.pid),
    processes: BigInt(pids.length),
    writable,
    disk,
    startedAtNs: known(container.startedAtNs),
    seenAtNs,
  };
}

/** As asked for: where nothing was, the CPU's are the kernel's, and memory has no limit. */
function toLimits(resources: Partial<LinuxContainerResources> = {}): UsageLimits {
  const memoryBytes = positive(resources.memoryLimitInBytes);
  return {
    cpuPeriod: known(resources.cpuPeriod),
    cpuQuota: positive(resources.cpuQuota),
    cpuShares: known(resources.cpuShares),
    memoryBytes,
    memoryAndSwapBytes: known(positive(resources.memorySwapLimitInBytes)) ?? memoryBytes,
  };
}

/** In CRI, zero stands for what was not said. */
function known(value: bigint | undefined): bigint | undefined {
  return value === 0n ? undefined : value;
}

function positive(value = 0n): bigint {
  return value > 0n ? value : 0n;
}
