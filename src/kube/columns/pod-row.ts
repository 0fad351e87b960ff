import { formatAgeOf } from './human-age.js';
import { type PodObject } from './kube-object.js';
import { type PodSummary, summarizePod } from './summarize-pod.js';

/** The cells of a pod in a table, besides its name and age. */
export interface PodRow {
  /** `1/2`. */
  readonly ready: string;
  /** {@link PodSummary.status} */
  readonly status: string;
  /** `3 (10s ago)`. */
  readonly restarts: string;
}

/** The cells of a pod in the table of `kubectl get pods`. */
export function podRow({ spec = {}, status = {}, metadata = {} }: PodObject, nowMs: number): PodRow {
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const summary = summarizePod({ spec, status, isTerminating });
  const { ready, total } = summary;
  return { ready: `${ready}/${total}`, status: summary.status, restarts: formatRestarts(summary, nowMs) };
}

function formatRestarts({ restarts, lastRestartAtMs }: PodSummary, nowMs: number): string {
  if (restarts === 0 || lastRestartAtMs === undefined) return String(restarts);
  return `${restarts} (${formatAgeOf(lastRestartAtMs, nowMs)} ago)`;
}
