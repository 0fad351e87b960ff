import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodRecord } from './pod-records.js';

/** A pod whose inspection hangs or fails. */
export interface StuckPod {
  readonly pod: PodRef;
  readonly state: 'hung' | 'failing';
  /** Wall-clock milliseconds since when no inspection of it has succeeded. */
  readonly sinceMs: number;
  readonly forMs: number;
  /** How many inspections have failed. */
  readonly failures: number;
  /** Message of the last failure; undefined while the first inspection hangs. */
  readonly error: string | undefined;
}

/** The stuck pods among the due ones. */
export interface StuckPods {
  /** Longest first. */
  readonly pods: StuckPod[];
  /** Total count, including those beyond the limit. */
  readonly count: number;
}

/** Computes which due pods hang or fail; the names of at most `limit`. `nowMs` is monotonic. */
export function computeStuckPods(due: Iterable<PodRecord>, nowMs: number, limit: number): StuckPods {
  const stuck: StuckPod[] = [];
  for (const { pod, slow, trouble, backoff } of due) {
    if (trouble === undefined) continue;
    stuck.push({
      pod,
      state: slow ? 'hung' : 'failing',
      sinceMs: trouble.sinceWallMs,
      forMs: nowMs - trouble.sinceMs,
      failures: backoff.failures,
      error: trouble.error?.message,
    });
  }
  stuck.sort((a, b) => b.forMs - a.forMs);
  return { pods: stuck.slice(0, limit), count: stuck.length };
}
