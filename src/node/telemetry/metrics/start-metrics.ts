import {
  containerStartEnded,
  orphanFound,
  podAdded,
  podEvicted,
  podStartedAgain,
  sandboxStartEnded,
  userNamespacedStart,
} from '#base/channels/start-channels.js';
import { hookSleepCutShort } from '#base/channels/hook-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { CONTAINER_COUNT_BUCKETS, DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** Counts starts of pods, sandboxes and containers, and what has to end. */
export function addStartMetrics(registry: MetricsRegistry): void {
  addSandboxes(registry);
  addContainers(registry);
  const containersPerPod = registry.histogram(
    {
      name: 'kubelet_containers_per_pod_count',
      help: 'How many containers pods have that came to this node, init containers not counted.',
    },
    CONTAINER_COUNT_BUCKETS,
  );
  registry.listen(podAdded, ({ containers }) => containersPerPod.observe(containers));
  const restarted = registry.counter({
    name: 'kubelet_restarted_pods_total',
    help: 'Pods that started once more under a uid that was torn down.',
    labels: ['static'],
  });
  registry.listen(podStartedAgain, ({ isStatic }) => restarted.inc({ static: isStatic ? 'true' : '' }));
  const orphans = registry.counter({
    name: 'kubelet_orphaned_runtime_pods_total',
    help: 'Pods of this agent that were found running though nobody wanted or knew them.',
  });
  registry.listen(orphanFound, () => orphans.inc());
  const sleeps = registry.counter({
    name: 'kubelet_sleep_action_terminated_early_total',
    help: 'Hooks that were to sleep and for whose end nobody waited.',
  });
  registry.listen(hookSleepCutShort, () => sleeps.inc());
  const evictions = registry.counter({
    name: 'kubelet_evictions',
    help: 'Pods that were ended for what they used of the node, by what that was.',
    labels: ['eviction_signal'],
  });
  const signals = new BoundedValues(16);
  const age = registry.histogram(
    {
      name: 'kubelet_eviction_stats_age_seconds',
      help: 'How old the measurement was by which a pod was chosen to be evicted, by what the node was short of.',
      labels: ['eviction_signal'],
    },
    DEFAULT_BUCKETS,
  );
  registry.listen(podEvicted, ({ signal, statsAgeMs }) => {
    const labels = { eviction_signal: signals.take(signal) };
    evictions.inc(labels);
    if (statsAgeMs !== undefined) age.observe(labels, statsAgeMs / 1_000);
  });
}

function addSandboxes(registry: MetricsRegistry): void {
  const pods = registry.counter({
    name: 'kubelet_started_pods_total',
    help: 'Tries to make a sandbox for a pod, failed ones included.',
  });
  const podErrors = registry.counter({
    name: 'kubelet_started_pods_errors_total',
    help: 'Tries to make a sandbox for a pod that failed.',
  });
  const namespaced = registry.counter({
    name: 'kubelet_started_user_namespaced_pods_total',
    help: 'Tries to start a pod with hostUsers: false, failed ones included.',
  });
  const namespacedErrors = registry.counter({
    name: 'kubelet_started_user_namespaced_pods_errors_total',
    help: 'Tries to start a pod with hostUsers: false in which something failed.',
  });
  registry.listen(userNamespacedStart, ({ step }) =>
    (step === 'begun' ? namespaced : namespacedErrors).inc(),
  );
  const duration = registry.histogram(
    {
      name: 'kubelet_run_podsandbox_duration_seconds',
      help: 'How long the runtime took to make sandboxes, by handler of the runtime class.',
      labels: ['runtime_handler'],
    },
    DEFAULT_BUCKETS,
  );
  const errors = registry.counter({
    name: 'kubelet_run_podsandbox_errors_total',
    help: 'Sandboxes that the runtime could not make, by handler of the runtime class.',
    labels: ['runtime_handler'],
  });
  const handlers = new BoundedValues(16);
  registry.listen(sandboxStartEnded, ({ runtimeHandler, durationMs, isStarted }) => {
    pods.inc();
    if (!isStarted) podErrors.inc();
    if (durationMs === undefined) return;
    const label = { runtime_handler: handlers.take(runtimeHandler) };
    duration.observe(label, durationMs / 1_000);
    if (!isStarted) errors.inc(label);
  });
}

function addContainers(registry: MetricsRegistry): void {
  const started = registry.counter({
    name: 'kubelet_started_containers_total',
    help: 'Tries to start a container, failed ones included.',
    labels: ['container_type'],
  });
  const errors = registry.counter({
    name: 'kubelet_started_containers_errors_total',
    help: 'Tries to start a container that failed, by reason.',
    labels: ['container_type', 'code'],
  });
  const codes = new BoundedValues(32);
  registry.listen(containerStartEnded, ({ containerType, failure }) => {
    started.inc({ container_type: containerType });
    if (failure !== undefined) errors.inc({ container_type: containerType, code: codes.take(failure) });
  });
}
