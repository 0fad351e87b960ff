/** The purpose of a probe. */
export type ProbeType = 'liveness' | 'readiness' | 'startup';

/**
 * A finding about one container that changes what has to be done with its pod.
 *
 * - readiness: every change
 * - startup: one success or one failure
 * - liveness: one failure
 *
 * After a failed liveness or startup probe, the container is not probed again: it has to be replaced.
 */
export interface ProbeResult {
  readonly podUid: string;
  readonly containerId: string;
  readonly containerName: string;
  readonly type: ProbeType;
  readonly result: 'success' | 'failure';
  /** `Liveness probe failed: …` in the kubelet's words; empty for a success. */
  readonly message: string;
  /** The probe's own grace period, which replaces the pod's when its failure ends the container. */
  readonly terminationGracePeriodSeconds?: number;
}

/** `Liveness`, as the kubelet prints it. */
export function titleOf(type: ProbeType): string {
  return `${type[0]!.toUpperCase()}${type.slice(1)}`;
}
