import { BoundedValues } from '../registry/bounded-values.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** How a container ended. */
export interface ContainerEnd {
  readonly containerType: 'container' | 'init_container' | 'ephemeral_container';
  readonly exitCode: number;
  /** The reason in its status: Completed, Error, OOMKilled … */
  readonly reason: string;
}

/** A byte, and a few that only runtimes invent. */
const MAX_EXIT_CODES = 300;
const MAX_REASONS = 32;

/** Counts how containers ended; call the returned function once for each. */
export function addContainerEndMetrics(registry: MetricsRegistry): (end: ContainerEnd) => void {
  const ended = registry.counter({
    name: 'kubelet_terminated_containers_total',
    help: 'Containers that ended, by kind, exit code and reason.',
    labels: ['container_type', 'exit_code', 'reason'],
  });
  const codes = new BoundedValues(MAX_EXIT_CODES);
  const reasons = new BoundedValues(MAX_REASONS);
  return ({ containerType, exitCode, reason }) =>
    ended.inc({
      container_type: containerType,
      exit_code: codes.take(String(exitCode)),
      reason: reasons.take(reason),
    });
}
