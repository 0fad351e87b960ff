import { POD_START_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The start of a pod: all of its containers have started. */
export interface PodStart {
  /** Since the pod was first wanted. */
  readonly totalMs: number;
  /** Without the time for pulling its images and running its init containers. */
  readonly ownMs: number;
  /** It has addresses of its own. */
  readonly hasNetwork: boolean;
}

/** Receives starts of pods. */
export interface PodStartObserver {
  /** A new pod runs, this many milliseconds after it was first wanted. */
  running(afterMs: number): void;
  started(start: PodStart): void;
}

/** Times the starts of pods that are new to this agent, not of those that ran before. */
export function addPodStartMetrics(registry: MetricsRegistry): PodStartObserver {
  const running = registry.histogram(
    {
      name: 'kubelet_pod_start_duration_seconds',
      help: 'From when a pod was first wanted until it ran.',
    },
    POD_START_BUCKETS,
  );
  const total = registry.histogram(
    {
      name: 'kubelet_pod_start_total_duration_seconds',
      help: 'From when a pod was first wanted until all its containers had started.',
    },
    POD_START_BUCKETS,
  );
  const own = registry.histogram(
    {
      name: 'kubelet_pod_start_sli_duration_seconds',
      help: 'The same without the time in which images were pulled for it or its init containers ran.',
    },
    POD_START_BUCKETS,
  );
  let firstWithNetworkMs: number | undefined;
  registry.readGauge(
    {
      name: 'kubelet_first_network_pod_start_sli_duration_seconds',
      help: 'The same of the first pod with addresses of its own, which waited for the network, too; 0 before.',
    },
    () => (firstWithNetworkMs ?? 0) / 1_000,
  );
  return {
    running: (afterMs) => running.observe(afterMs / 1_000),
    started: ({ totalMs, ownMs, hasNetwork }) => {
      total.observe(totalMs / 1_000);
      own.observe(ownMs / 1_000);
      if (hasNetwork) firstWithNetworkMs ??= ownMs;
    },
  };
}
