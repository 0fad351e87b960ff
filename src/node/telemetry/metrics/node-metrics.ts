import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The node, and the build that serves its metrics. */
export interface NodeMetricsFacts {
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  readonly runtime: { readonly name: string; readonly version: string };
  /** Undefined where the node has none. */
  readonly cgroupVersion: 1 | 2 | undefined;
}

/** Reports the last shutdown of the machine for which pods were ended in order; 0 if there was none. */
export function addShutdownMetrics(
  registry: MetricsRegistry,
  read: () => { readonly startedAtMs?: number; readonly endedAtMs?: number },
): void {
  const toSeconds = (ms = 0): number => Math.floor(ms / 1_000);
  registry.readGauge(
    {
      name: 'kubelet_graceful_shutdown_start_time_seconds',
      help: 'When the last graceful shutdown began, in seconds since 1970; 0 if there was none.',
    },
    () => toSeconds(read().startedAtMs),
  );
  registry.readGauge(
    {
      name: 'kubelet_graceful_shutdown_end_time_seconds',
      help: 'When the last graceful shutdown had ended its pods, in seconds since 1970; 0 before.',
    },
    () => toSeconds(read().endedAtMs),
  );
}

/** Reports how much memory the kernel keeps for pods. */
export function addMemoryProtectionMetrics(
  registry: MetricsRegistry,
  read: () => { readonly minBytes: bigint; readonly lowBytes: bigint },
): void {
  registry.readGauge(
    {
      name: 'kubelet_memory_qos_node_memory_min_bytes',
      help: 'Memory that the kernel keeps in any case: what guaranteed pods request, with memoryReservationPolicy TieredReservation.',
    },
    () => Number(read().minBytes),
  );
  registry.readGauge(
    {
      name: 'kubelet_memory_qos_node_memory_low_bytes',
      help: 'Memory that the kernel keeps as far as it can: what burstable pods request, with memoryReservationPolicy TieredReservation.',
    },
    () => Number(read().lowBytes),
  );
}

/** Reports which node this is, and the build of the agent. */
export function addNodeMetrics(registry: MetricsRegistry, facts: NodeMetricsFacts): void {
  const { nodeName, version, runtime, cgroupVersion } = facts;
  const one = <Label extends string>(labels: Readonly<Record<Label, string>>) => [{ labels, value: 1 }];
  registry.readGauge(
    { name: 'kubelet_node_name', help: 'The name of the node; always 1.', labels: ['node'] },
    () => one({ node: nodeName }),
  );
  registry.readGauge(
    {
      name: 'kubelet_metrics_provider',
      help: 'Where the numbers about containers come from: the runtime, by CRI; always 1.',
      labels: ['provider'],
    },
    () => one({ provider: 'cri' }),
  );
  registry.readGauge(
    { name: 'kubelet_cgroup_version', help: 'Which version of cgroups the node has: 1 or 2.' },
    () => cgroupVersion,
  );
  registry.readGauge(
    {
      name: 'podloop_build_info',
      help: 'The version of podloop and of what it runs on; always 1.',
      labels: ['version', 'node_version', 'platform'],
    },
    () => one({ version, node_version: process.version, platform: `${process.platform}/${process.arch}` }),
  );
  registry.readGauge(
    {
      name: 'podloop_runtime_info',
      help: 'The container runtime, as it called itself when the agent was started; always 1.',
      labels: ['name', 'version'],
    },
    () => one({ name: runtime.name, version: runtime.version }),
  );
}
