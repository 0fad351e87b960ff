import { type PodEnd } from './compute-pod-status.js';

/** Whether a pod's deadline has passed. */
export type DeadlineCheck =
  | { readonly exceeded: true; readonly end: PodEnd }
  /** Check again after this time; undefined when the pod has no deadline. */
  | { readonly exceeded: false; readonly checkAgainInMs: number | undefined };

const EXCEEDED: PodEnd = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Compares how long a pod has been active with its activeDeadlineSeconds. Pure.
 *
 * `activeForMs`: since the startTime of its status, from {@link ActiveTimes}, so that no jump of the clock
 * ends a pod.
 */
export function checkActiveDeadline(
  activeDeadlineSeconds: number | undefined,
  activeForMs: number,
): DeadlineCheck {
  if (activeDeadlineSeconds === undefined) return { exceeded: false, checkAgainInMs: undefined };
  const leftMs = activeDeadlineSeconds * 1000 - activeForMs;
  return leftMs <= 0 ? { exceeded: true, end: EXCEEDED } : { exceeded: false, checkAgainInMs: leftMs };
}
