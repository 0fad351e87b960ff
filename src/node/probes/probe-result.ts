/** What a probe is for. */
export type ProbeType = 'liveness' | 'readiness' | 'startup';

/**
 * Something that probes have found out of one container, and that changes what is to be done with its pod.
 *
 * readiness: every change of it. startup: success once, or failure once. liveness: failure once. After a failure of
 * liveness or startup that container is not probed again: it is to be replaced.
 */
export interface ProbeResult {
  readonly podUid: string;
  readonly containerId: string;
  readonly containerName: string;
  readonly type: ProbeType;
  readonly result: 'success' | 'failure';
  /** `Liveness probe failed: …` in the kubelet's words; empty for a success. */
  readonly message: string;
  /** Of the probe itself: replaces the pod's grace period when its failure ends the container. */
  readonly terminationGracePeriodSeconds?: number;
}

/** `Liveness`, as the kubelet prints it. */
export function titleOf(type: ProbeType): string {
  return `${type[0]!.toUpperCase()}${type.slice(1)}`;
}
