/**
 * The buckets of histograms. They are the kubelet's, as dashboards compute quantiles from them and sum them
 * over nodes.
 *
 * @module
 */

/** Seconds (default: what Prometheus' client libraries use). */
export const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/**
 * Durations of calls of the runtime in seconds: from 5 ms, each two and a half times the one before, to 12
 * minutes.
 */
export const RUNTIME_OPERATION_BUCKETS = growing(0.005, 2.5, 14);

/** Durations of pod starts in seconds. */
export const POD_START_BUCKETS = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1_200, 1_800],
  ...[2_700, 3_600],
] as const;

/** Durations of image pulls in seconds. */
export const IMAGE_PULL_BUCKETS = [
  ...[1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1_200, 1_800, 2_700, 3_600],
] as const;

/** Numbers of containers in a pod. */
export const CONTAINER_COUNT_BUCKETS = growing(1, 2, 5);

/** Durations of volume operations in seconds. */
export const VOLUME_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600] as const;

/** Multiplies step by step, so that the rounding in the label is the same as that of others. */
function growing(first: number, factor: number, count: number): readonly number[] {
  const bounds = [first];
  while (bounds.length < count) bounds.push(bounds.at(-1)! * factor);
  return bounds;
}
